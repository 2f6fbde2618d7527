import type { UpstreamDialectId } from '../../../src/translate/dialect.ts'
import type { Proxy } from '../../http/harness.ts'

/** One turn of a model, in a form that all clients share. */
export interface Said {
  readonly text: string
  /** Readable reasoning; '' for none. */
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

/** A conversation of a client. The history consists of the client's own objects. */
interface Conversation {
  readonly say: (prompt: Prompt) => Promise<Said>
  /** Answers the calls of the last turn, in order. */
  readonly answer: (results: readonly string[]) => Promise<Said>
  /** Sends the following prompts, with the whole history, to another model. */
  readonly continueWith: (model: string) => void
}

interface SpeakOptions {
  readonly model: string
  readonly stream: boolean
  /** Offers the two tools below. */
  readonly hasTools?: boolean
  /** Asks the model to reason, and to show its reasoning. */
  readonly thinks?: boolean
}

/** A client that can lead a conversation. */
export interface Speaker {
  readonly name: string
  /** The dialect that the client speaks to the proxy. */
  readonly dialect: UpstreamDialectId
  /** The client shows reasoning and sends it back. */
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
