import type { EncodeContext } from '../dialect.ts'
import { isObject, type JsonObject } from '../parts/is-object.ts'
import { isFilled, objectsOf } from '../parts/wire-json.ts'
import type { Warning } from '../warning.ts'
import { itemTypeOf } from './item-types.ts'
import { LITE } from './lessons.ts'

/** The lite form is for models of the ChatGPT backend that have refused the usual one. */
export function isLite({ profile, lite, lessons }: EncodeContext): boolean {
  return profile === 'chatgpt' && lite === 'auto' && lessons.has(LITE)
}

/** Never with a body in the usual form, nor the other way round. */
export const liteHeaders = { 'x-openai-internal-codex-responses-lite': 'true' } as const

/** Where functions and custom tools stand that are in no other namespace. */
export const LITE_NAMESPACE = 'functions'

export interface LiteBody {
  readonly body: JsonObject
  /** Names of the tools that were put into the namespace. */
  readonly grouped: ReadonlySet<string>
}

/**
 * A finished body in the lite form: tools and instructions are items, and one tool is called at a time
 * (docs/codex-wire.md, "Lite form").
 */
export function toLite(body: JsonObject, warnings: Warning[]): LiteBody {
  const { tools, tool_choice: choice, parallel_tool_calls: parallel, instructions, input, reasoning, ...rest } = body
  const offered = takenTools(objectsOf(tools), choice, warnings)
  if (isForced(choice)) {
    warnings.push({ code: 'dropped', field: 'tool_choice', detail: 'this model chooses for itself' })
  }
  if (parallel === true && offered.length > 0) {
    warnings.push({ code: 'adapted', field: 'parallel_tool_calls', detail: 'this model calls one tool at a time' })
  }
  const { listed, grouped } = groupTools(offered)
  const items = objectsOf(input).map((item) => withNamespace(withoutDetail(item), grouped))
  return {
    body: {
      ...rest,
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

/** Of the hosted tools none. A choice that leaves tools out is carried out by leaving them out. */
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

/** The tools the caller would have used; undefined for any. */
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
  const own = others.find(({ type, name }) => type === 'namespace' && name === LITE_NAMESPACE)
  const inner = [...single, ...objectsOf(own?.['tools'])]
  const namespace = {
    // The interface has it on every namespace.
    description: 'The tools of the program that makes this request.',
    ...own,
    type: 'namespace',
    name: LITE_NAMESPACE,
    tools: inner,
  }
  return {
    listed: [...(inner.length === 0 ? [] : [namespace]), ...others.filter((tool) => tool !== own)],
    grouped: new Set(single.map(({ name }) => String(name))),
  }
}

function developerMessage(text: string): JsonObject {
  return { type: 'message', role: 'developer', content: [{ type: 'input_text', text }] }
}

/** A call of earlier turns, named as its tool is now. */
function withNamespace(item: JsonObject, grouped: ReadonlySet<string>): JsonObject {
  const { name, namespace } = item
  const type = itemTypeOf(item)
  if (type !== 'function_call' && type !== 'custom_tool_call') return item
  return isFilled(name) && !isFilled(namespace) && grouped.has(name) ? { ...item, namespace: LITE_NAMESPACE } : item
}

/** Images have no `detail`, in messages and in what tools answered. */
function withoutDetail(item: JsonObject): JsonObject {
  const changes = (['content', 'output'] as const).flatMap((member) => {
    const parts = item[member]
    return Array.isArray(parts) && parts.some(hasDetail) ? [[member, parts.map(bare)] as const] : []
  })
  return changes.length === 0 ? item : { ...item, ...Object.fromEntries(changes) }
}

function hasDetail(part: unknown): boolean {
  return isObject(part) && part['type'] === 'input_image' && Object.hasOwn(part, 'detail')
}

function bare(part: unknown): unknown {
  if (!isObject(part) || !hasDetail(part)) return part
  const { detail: _detail, ...rest } = part
  return rest
}
