/** Where an item's texts are: its parts, its summary, or the item itself. */
type TextPlace = 'content' | 'summary' | 'item'

/** A text that arrives in pieces. */
export interface TextKind {
  /** The event of a piece, and the one that states the whole. */
  readonly delta: string
  readonly done: string
  /** The type of the items that have it. */
  readonly item: string
  readonly place: TextPlace
  /** The type of the part that holds it; '' for texts of the item itself. */
  readonly part: string
  /** What the whole is called: in the `.done` event, in the part, in the item. */
  readonly key: 'text' | 'refusal' | 'arguments' | 'input'
}

/** Source: OpenAI API reference, responses streaming events, 2026-11. */
export const textKinds = {
  text: {
    delta: 'response.output_text.delta',
    done: 'response.output_text.done',
    item: 'message',
    place: 'content',
    part: 'output_text',
    key: 'text',
  },
  refusal: {
    delta: 'response.refusal.delta',
    done: 'response.refusal.done',
    item: 'message',
    place: 'content',
    part: 'refusal',
    key: 'refusal',
  },
  summary: {
    delta: 'response.reasoning_summary_text.delta',
    done: 'response.reasoning_summary_text.done',
    item: 'reasoning',
    place: 'summary',
    part: 'summary_text',
    key: 'text',
  },
  reasoning: {
    delta: 'response.reasoning_text.delta',
    done: 'response.reasoning_text.done',
    item: 'reasoning',
    place: 'content',
    part: 'reasoning_text',
    key: 'text',
  },
  arguments: {
    delta: 'response.function_call_arguments.delta',
    done: 'response.function_call_arguments.done',
    item: 'function_call',
    place: 'item',
    part: '',
    key: 'arguments',
  },
  input: {
    delta: 'response.custom_tool_call_input.delta',
    done: 'response.custom_tool_call_input.done',
    item: 'custom_tool_call',
    place: 'item',
    part: '',
    key: 'input',
  },
} as const satisfies Record<string, TextKind>

const all: readonly TextKind[] = Object.values(textKinds)

/** By event type. */
export const deltaKinds: ReadonlyMap<string, TextKind> = new Map(all.map((kind) => [kind.delta, kind]))
export const doneKinds: ReadonlyMap<string, TextKind> = new Map(all.map((kind) => [kind.done, kind]))

/** The kind of text a part holds; undefined for parts that hold none. */
export function kindOfPart(part: unknown): TextKind | undefined {
  return all.find((kind) => kind.part !== '' && kind.part === part)
}

/** The kind of text an item itself holds: calls do. */
export function kindOfItem(type: string): TextKind | undefined {
  return all.find((kind) => kind.place === 'item' && kind.item === type)
}

/** The events that open and close a part, and what they call its position. */
export const partEvents = {
  content: {
    added: 'response.content_part.added',
    done: 'response.content_part.done',
    index: 'content_index',
  },
  summary: {
    added: 'response.reasoning_summary_part.added',
    done: 'response.reasoning_summary_part.done',
    index: 'summary_index',
  },
} as const

export type PartPlace = keyof typeof partEvents
