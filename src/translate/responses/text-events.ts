/** Where an item holds its texts: in the parts of a list, or in a member of the item. */
type TextContainer = 'content' | 'summary' | 'item'

/** A text that is streamed. */
export interface TextKind {
  /** The event types of a piece and of the final text. */
  readonly delta: string
  readonly done: string
  /** Type of the items that hold it. */
  readonly item: string
  readonly container: TextContainer
  /** Type of the parts that hold it; '' for texts of the item. */
  readonly part: string
  /** The member that holds the final text in the `.done` event, in the part and in the item. */
  readonly key: 'text' | 'refusal' | 'arguments' | 'input'
}

function kindOf<Item extends string, Container extends TextContainer, Part extends string, Key extends TextKind['key']>(
  name: string,
  item: Item,
  container: Container,
  part: Part,
  key: Key,
) {
  return { delta: `response.${name}.delta`, done: `response.${name}.done`, item, container, part, key } as const
}

/** Source: OpenAI API reference, responses streaming events, 2026-11. */
export const textKinds = {
  text: kindOf('output_text', 'message', 'content', 'output_text', 'text'),
  refusal: kindOf('refusal', 'message', 'content', 'refusal', 'refusal'),
  summary: kindOf('reasoning_summary_text', 'reasoning', 'summary', 'summary_text', 'text'),
  reasoning: kindOf('reasoning_text', 'reasoning', 'content', 'reasoning_text', 'text'),
  arguments: kindOf('function_call_arguments', 'function_call', 'item', '', 'arguments'),
  input: kindOf('custom_tool_call_input', 'custom_tool_call', 'item', '', 'input'),
} as const satisfies Record<string, TextKind>

const all: readonly TextKind[] = Object.values(textKinds)

/** By event type. */
export const deltaKinds: ReadonlyMap<string, TextKind> = new Map(all.map((kind) => [kind.delta, kind]))
export const doneKinds: ReadonlyMap<string, TextKind> = new Map(all.map((kind) => [kind.done, kind]))

export function kindOfPart(part: unknown): TextKind | undefined {
  return all.find((kind) => kind.part !== '' && kind.part === part)
}

const callKinds = new Map(all.filter(({ container }) => container === 'item').map((kind) => [kind.item, kind]))

/** The kind of text of a call; undefined for other items. */
export function kindOfItem(type: string): TextKind | undefined {
  return callKinds.get(type)
}

/** The events that open and close a part, and the member with its position. */
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

export type PartContainer = keyof typeof partEvents
