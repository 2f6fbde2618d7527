import type { UpstreamDialectId } from '../../../src/translate/dialect.ts'
import type { Proxy } from '../../http/harness.ts'

/** What a model said in one turn, whatever client read it. */
export interface Said {
  readonly text: string
  /** Thoughts for reading, '' for none. */
  readonly thinking: string
  readonly calls: readonly SaidCall[]
  readonly end: 'end' | 'calls' | 'length' | 'filter'
  readonly inputTokens: number
  readonly outputTokens: number
}

interface SaidCall {
  readonly id: string
  readonly name: string
  readonly input: unknown
}

export interface Prompt {
  readonly text: string
  /** Base64 of a PNG beside the text. */
  readonly image?: string
}

/** A conversation as a client leads it: history goes back as the client's own objects have it. */
interface Conversation {
  readonly say: (prompt: Prompt) => Promise<Said>
  /** Answers the calls of the last turn, in order. */
  readonly answer: (results: readonly string[]) => Promise<Said>
  /** Another model gets what follows, with all that was said before. */
  readonly goOnWith: (model: string) => void
}

interface SpeakOptions {
  readonly model: string
  readonly stream: boolean
  /** Offers the two tools below. */
  readonly hasTools?: boolean
  /** Asks the model to think, and to show it. */
  readonly thinks?: boolean
}

/** A client that can lead a conversation. */
export interface Speaker {
  readonly name: string
  /** The dialect it speaks to the proxy. */
  readonly dialect: UpstreamDialectId
  /** Shows the thoughts it gets, and sends them back. */
  readonly keepsThoughts: boolean
  readonly open: (proxy: Proxy, options: SpeakOptions) => Conversation
}

export interface OfferedTool {
  readonly name: string
  readonly description: string
  readonly schema: { readonly type: 'object'; readonly properties: Record<string, object>; readonly required: string[] }
}

export const tools: readonly OfferedTool[] = [
  {
    name: 'read_file',
    description: 'Reads a file',
    schema: {
      type: 'object',
      properties: { path: { type: 'string' }, limits: { type: 'object', properties: { lines: { type: 'integer' } } } },
      required: ['path'],
    },
  },
  {
    name: 'list_folder',
    description: 'Lists a folder',
    schema: { type: 'object', properties: { folder: { type: 'string' } }, required: ['folder'] },
  },
]
