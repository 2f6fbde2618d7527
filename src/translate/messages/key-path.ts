import { isObject } from '../parts/is-object.ts'

/** Members without which nothing is left of what holds them; a refusal of one is not ours to cure. */
const ESSENTIAL_AT_TOP = new Set(['model', 'messages', 'max_tokens', 'stream', 'system', 'tools'])
const ESSENTIAL_IN_MESSAGE = new Set(['role', 'content'])
const ESSENTIAL_BELOW = new Set([
  'type',
  'role',
  'content',
  'text',
  'id',
  'name',
  'input',
  'input_schema',
  'tool_use_id',
  'source',
  'data',
  'media_type',
  'signature',
])

/**
 * The shape of a path in upstream's refusals: positions become `*`, so that it stands for every place of its kind.
 * Undefined for a path that names something essential, or no key.
 */
export function shapeOf(path: string): string | undefined {
  const steps = path.split('.').map((step) => (isPosition(step) ? '*' : step))
  const last = steps.at(-1) ?? ''
  const essential = essentialAt(steps)
  return steps.includes('') || steps[0] === '*' || last === '*' || essential.has(last) ? undefined : steps.join('.')
}

/** Messages that callers copy from replies have an id and a type of their own. */
function essentialAt(steps: readonly string[]): ReadonlySet<string> {
  if (steps.length === 1) return ESSENTIAL_AT_TOP
  return steps.length === 3 && steps[0] === 'messages' ? ESSENTIAL_IN_MESSAGE : ESSENTIAL_BELOW
}

/**
 * `value` without the key a shape names, everywhere it stands; the very value where it stands nowhere. Steps of a shape
 * are keys, `*` for every element, and types: upstream names the type of what it looks into, as in
 * `tools.*.custom.eager_input_streaming` (docs/copilot-wire.md, "messages, unknown fields").
 */
export function withoutKey(value: unknown, shape: string): unknown {
  return remove(value, shape.split('.'), 0)
}

function remove(value: unknown, steps: readonly string[], at: number): unknown {
  const step = steps[at]
  if (step === undefined) return value
  if (Array.isArray(value)) {
    if (step !== '*') return value
    const elements: readonly unknown[] = value
    let changed = false
    const kept = elements.map((element) => {
      const without = remove(element, steps, at + 1)
      changed ||= without !== element
      return without
    })
    return changed ? kept : value
  }
  if (!isObject(value)) return value
  const isLast = at === steps.length - 1
  if (!isLast && isTypeOf(value, step)) return remove(value, steps, at + 1)
  if (!Object.hasOwn(value, step)) return value
  if (isLast) return Object.fromEntries(Object.entries(value).filter(([key]) => key !== step))
  const inner = remove(value[step], steps, at + 1)
  return inner === value[step] ? value : { ...value, [step]: inner }
}

/** A tool of the caller's own need not state its type, which is `custom`. */
function isTypeOf(value: Readonly<Record<string, unknown>>, step: string): boolean {
  const type = value['type'] ?? 'custom'
  return type === step && !(value['type'] === undefined && Object.hasOwn(value, step))
}

function isPosition(step: string): boolean {
  return /^\d+$/.test(step)
}
