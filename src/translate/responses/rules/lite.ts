import type { EncodeContext } from '../../dialect.ts'
import { isFilled, isObject, type JsonObject, objectsOf } from '../../../json/json.ts'
import type { Warning } from '../../warning.ts'
import { itemTypeOf, mapParts } from '../items/item.ts'
import { LITE, takesLite } from './learned-refusals.ts'

/** Models of the ChatGPT backend that refused the usual form get the lite form. */
export function isLite(context: EncodeContext): boolean {
  return takesLite(context) && context.learnedRefusals.has(LITE)
}

/** A header for bodies in the lite form only. */
export const liteHeaders = { 'x-openai-internal-codex-responses-lite': 'true' } as const

/** The namespace of functions and custom tools that have none. */
export const LITE_NAMESPACE = 'functions'

export interface LiteBody {
  readonly body: JsonObject
  /** Names of the tools that were put into `LITE_NAMESPACE`. */
  readonly grouped: ReadonlySet<string>
}

/**
 * Converts a body to the lite form: tools and instructions are items, and the model calls one tool at a time
 * (docs/codex-wire.md, "Lite form").
 */
export function toLite(body: JsonObject, warnings: Warning[]): LiteBody {
  const { tools, tool_choice: choice, parallel_tool_calls: parallel, instructions, input, reasoning, ...members } = body
  const offered = takenTools(objectsOf(tools), choice, warnings)
  if (isForced(choice)) {
    warnings.push({ code: 'dropped', field: 'tool_choice', detail: 'this model chooses its tools itself' })
  }
  if (parallel === true && offered.length > 0) {
    warnings.push({ code: 'adapted', field: 'parallel_tool_calls', detail: 'this model calls one tool at a time' })
  }
  const { listed, grouped } = groupTools(offered)
  const items = objectsOf(input).map((item) => withNamespace(mapParts(item, withoutDetail), grouped))
  return {
    body: {
      ...members,
      instructions: '',
      input: [
        ...(listed.length === 0 ? [] : [{ type: 'additional_tools', role: 'developer', tools: listed }]),
        ...(isFilled(instructions) ? [developerMessage(instructions)] : []),
        ...items,
      ],
      tool_choice: 'auto',
      parallel_tool_calls: false,
      reasoning: { ...(isObject(reasoning) && reasoning), context: 'all_turns' },
    },
    grouped,
  }
}

/** Drops hosted tools, and tools that `tool_choice` excludes, because the lite form has no such choice. */
function takenTools(tools: readonly JsonObject[], choice: unknown, warnings: Warning[]): readonly JsonObject[] {
  if (choice === 'none') return []
  const allowed = allowedNames(choice)
  return tools.filter((tool, at) => {
    const { type, name } = tool
    if (!taken.has(type)) {
      warnings.push({ code: 'dropped', field: `tools.${at}`, detail: 'the tool is not available for this model' })
      return false
    }
    if (allowed === undefined || allowed.has(name)) return true
    return objectsOf(tool['tools']).some((inner) => allowed.has(inner['name']))
  })
}

const taken: ReadonlySet<unknown> = new Set(['function', 'custom', 'namespace', 'tool_search'])

/** Names of the tools that the choice allows; undefined if it allows all. */
function allowedNames(choice: unknown): ReadonlySet<unknown> | undefined {
  if (!isObject(choice)) return undefined
  const mentions = choice['type'] === 'allowed_tools' ? objectsOf(choice['tools']) : [choice]
  return new Set(mentions.map(({ name }) => name))
}

function isForced(choice: unknown): boolean {
  if (!isObject(choice)) return choice === 'required'
  return choice['type'] !== 'allowed_tools' || choice['mode'] === 'required'
}

function groupTools(tools: readonly JsonObject[]) {
  const single = tools.filter(({ type }) => type === 'function' || type === 'custom')
  const others = tools.filter(({ type }) => type !== 'function' && type !== 'custom')
  const existing = others.find(({ type, name }) => type === 'namespace' && name === LITE_NAMESPACE)
  const inner = [...single, ...objectsOf(existing?.['tools'])]
  const namespace = {
    // Every namespace must have a description.
    description: 'The tools of the program that makes this request.',
    ...existing,
    type: 'namespace',
    name: LITE_NAMESPACE,
    tools: inner,
  }
  return {
    listed: [...(inner.length === 0 ? [] : [namespace]), ...others.filter((tool) => tool !== existing)],
    grouped: new Set(single.map(({ name }) => String(name))),
  }
}

function developerMessage(text: string): JsonObject {
  return { type: 'message', role: 'developer', content: [{ type: 'input_text', text }] }
}

/** Gives a call in the history the namespace of its tool. */
function withNamespace(item: JsonObject, grouped: ReadonlySet<string>): JsonObject {
  const { name, namespace } = item
  const type = itemTypeOf(item)
  if (type !== 'function_call' && type !== 'custom_tool_call') return item
  return isFilled(name) && !isFilled(namespace) && grouped.has(name) ? { ...item, namespace: LITE_NAMESPACE } : item
}

/** Images in the lite form have no `detail`. */
function withoutDetail(part: JsonObject): JsonObject {
  if (part['type'] !== 'input_image' || !Object.hasOwn(part, 'detail')) return part
  const { detail: _detail, ...members } = part
  return members
}
