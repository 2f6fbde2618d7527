import { RequestError } from '@agentclientprotocol/sdk'
import { PromptProblem } from '../../acp/prompt.ts'
import { ToolError } from '../../workspace/tool-error.ts'
import { RefusedInput } from '../agent/client.ts'
import { loginAdvice } from '../shared/accounts.ts'
import { CommandFailure, isNotLoggedIn } from '../shared/command.ts'

/** Lets a handler fail with a sentence that the editor can show. */
export function answering(note: (sentence: string) => void) {
  return <Context, Answer>(handle: (context: Context) => Promise<Answer> | Answer) =>
    async (context: Context): Promise<Answer> => {
      try {
        return await handle(context)
      } catch (error) {
        throw toRequestError(error, note)
      }
    }
}

function toRequestError(error: unknown, note: (sentence: string) => void): RequestError {
  if (error instanceof RequestError) return error
  if (error instanceof PromptProblem || error instanceof RefusedInput)
    return RequestError.invalidParams(undefined, error.message)
  if (isNotLoggedIn(error)) return RequestError.authRequired(undefined, loginAdvice)
  // The folder cannot be a workspace.
  if (error instanceof CommandFailure && error.cause instanceof ToolError) {
    return RequestError.invalidParams(undefined, error.message)
  }
  if (error instanceof CommandFailure) return RequestError.internalError(undefined, error.message)
  note(error instanceof Error ? (error.stack ?? error.message) : String(error))
  return RequestError.internalError(undefined, 'copilot-proxy failed unexpectedly. Its standard error has the details.')
}
