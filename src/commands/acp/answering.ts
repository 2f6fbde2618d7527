import { RequestError } from '@agentclientprotocol/sdk'
import { PromptProblem } from '../../acp/prompt.ts'
import { ToolError } from '../../workspace/tool-error.ts'
import { loginAdvice } from '../shared/accounts.ts'
import { CommandFailure, isNotLoggedIn } from '../shared/command.ts'
import { RouteRefused } from '../shared/view.ts'

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

const codes = { invalidParams: -32_602, internalError: -32_603, notFound: -32_002 } as const

/** A sentence for the person. The constructors of the SDK would begin it with "Internal error". */
export function failed(sentence: string): RequestError {
  return new RequestError(codes.internalError, sentence)
}

const goneText =
  'This conversation no longer exists: it was deleted, or a copilot-proxy that kept it in memory has ended. Begin a new one.'

function toRequestError(error: unknown, note: (sentence: string) => void): RequestError {
  if (error instanceof RequestError) return error
  if (error instanceof PromptProblem) return new RequestError(codes.invalidParams, error.message)
  if (error instanceof RouteRefused && (error.status === 400 || error.status === 413)) {
    return new RequestError(codes.invalidParams, error.message)
  }
  // Neither the folder nor the conversation of an open session is unknown otherwise.
  if (error instanceof RouteRefused && error.status === 404) return new RequestError(codes.notFound, goneText)
  if (isNotLoggedIn(error)) return RequestError.authRequired(undefined, loginAdvice)
  // The folder cannot be a workspace.
  if (error instanceof CommandFailure && error.cause instanceof ToolError) {
    return new RequestError(codes.invalidParams, error.message)
  }
  if (error instanceof CommandFailure) return failed(error.message)
  note(error instanceof Error ? (error.stack ?? error.message) : String(error))
  return failed('copilot-proxy failed unexpectedly. Its standard error has the details.')
}
