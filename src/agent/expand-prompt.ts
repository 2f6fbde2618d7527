import { checkArguments } from '../tools/check-arguments.ts'
import { promptToolName } from '../tools/offer-names.ts'
import { contentOf, describeMedia, readMixedResult } from '../tools/result-content.ts'
import type { Session } from '../tools/session.ts'
import type { Tools } from '../tools/tool.ts'
import type { TurnPart } from '../translate/turn.ts'
import { ToolError } from '../workspace/tool-error.ts'
import type { AgentEvent } from './agent-event.ts'
import { capText } from './describe-result.ts'
import { imagePart } from './images.ts'
import { endOfCall } from './loop-results.ts'
import { frame } from './prompts.ts'

export interface PromptDeps {
  readonly tools: Pick<Tools, 'call' | 'list'>
  readonly session: Session
  readonly caller: string
  readonly ownerId: string | undefined
  readonly boundary: string
  /** Maximum length of the text of a prompt, and of the texts that it brings along. Characters. */
  readonly maxLength: number
  /** Monotonic. Ms. */
  readonly now: () => number
  readonly emit: (event: AgentEvent) => void
}

/** `parts` stand in place of the text of the message. */
type Expanded = { readonly parts: readonly TurnPart[] } | { readonly failure: string }

/**
 * Gets the prompt of an MCP server that a message chooses, as clients write it: `/server:prompt arguments`. Its text counts as words
 * of the person, who has chosen it; what it brings along, such as the text of a resource, is data. Returns undefined for a message
 * that chooses none. Never rejects.
 */
export type ExpandPrompt = (text: string, step: number, signal: AbortSignal) => Promise<Expanded | undefined>

export function createPrompts(deps: PromptDeps): ExpandPrompt {
  const { tools, session, caller, ownerId, boundary, maxLength, now, emit } = deps
  let calls = 0

  async function get(args: unknown, signal: AbortSignal) {
    try {
      const result = await tools.call({ session, name: promptToolName, args, signal, caller, ownerId })
      const { text = '', parts = [], truncated = false } = readMixedResult(result) ?? {}
      const said = capText(text, maxLength)
      const { texts, images } = contentOf({ text: '', parts })
      const brought = capText(texts.join('\n'), maxLength)
      const isCut = truncated || said.isCut || brought.isCut
      return { outcome: 'ok', message: 'expanded', text: said.text, brought: brought.text, images, isCut } as const
    } catch (error) {
      const failure = error instanceof ToolError ? error : new ToolError({ kind: 'failed', detail: 'The tool failed.' })
      return {
        outcome: failure.failure.kind,
        message: failure.message,
        text: '',
        brought: '',
        images: [],
        isCut: false,
      }
    }
  }

  return async (message, step, signal) => {
    const [, prompt, text = ''] = /^\/([^\s:]+:\S+)\s*([^]*)$/.exec(message.trim()) ?? []
    const args = { prompt, ...(text !== '' && { text }) }
    if (prompt === undefined || !accepts(tools, session, promptToolName, args)) return undefined
    calls += 1
    const call = { callId: `prompt-${calls}`, tool: promptToolName }
    const startedMs = now()
    emit({ type: 'tool', state: 'started', ...call, step, args })
    const { outcome, message: end, text: said, brought, images, isCut } = await get(args, signal)
    const result = [said, brought, ...images.map((image) => describeMedia(image))]
      .filter((each) => each !== '')
      .join('\n')
    const durationMs = Math.round(now() - startedMs)
    emit(endOfCall({ ...call, outcome, message: end, result, truncated: isCut, durationMs }, step))
    if (outcome !== 'ok') return { failure: `The prompt ${prompt} cannot be used: ${end}` }
    const data = frame(boundary, `what the prompt ${JSON.stringify(prompt)} brings along`, brought)
    return {
      parts: [
        ...(brought === '' ? [] : [{ type: 'text', text: data } as const]),
        ...images.map(imagePart),
        { type: 'text', text: said },
      ],
    }
  }
}

/** Returns whether the session has a tool that takes these arguments: it says which servers and prompts there are. */
export function accepts(tools: Pick<Tools, 'list'>, session: Session, tool: string, args: unknown): boolean {
  const found = tools.list(session).find(({ name }) => name === tool)
  if (found === undefined) return false
  try {
    checkArguments(found.parameters, args)
    return true
  } catch {
    return false
  }
}
