import { isObject, type JsonObject } from '../../json/json.ts'

// A path is text, as upstream writes it: `input[0].phase` or `tools.0.custom.name`. Positions stand for every element
// when a path is edited; `[]` and `*` say so.

/** `input[].phase` for `input[0].phase`, and `tools.*.name` for `tools.0.name`. */
export function withoutPositions(path: string): string {
  return path.replaceAll(/\[\d*\]/g, '[]').replaceAll(/(?<=^|\.)\d+(?=\.|$)/g, '*')
}

/** Keys, and `*` for every element. */
export function stepsOf(path: string): readonly string[] {
  return withoutPositions(path).replaceAll('[]', '.*').split('.')
}

/** The object without what the paths name; the very object if it holds none of it. */
export function removeAt(object: JsonObject, ...paths: readonly string[]): JsonObject {
  return paths.reduce((kept, path) => editAt(kept, path, () => undefined), object)
}

/**
 * The object with each value at the path replaced by what `edit` returns; undefined removes the member or the element.
 * The very object, and the very arrays and objects in it, where nothing changes.
 *
 * A step may also be the `type` of what it looks into, because the Messages API names that too:
 * `tools.*.custom.eager_input_streaming` (docs/copilot-wire.md, "messages, unknown fields").
 */
export function editAt(object: JsonObject, path: string, edit: (value: unknown) => unknown): JsonObject {
  const steps = stepsOf(path)
  // The first step is a member: a request body states no type.
  const edited = Object.hasOwn(object, steps[0] ?? '') ? editBelow(object, steps, edit) : object
  return isObject(edited) ? edited : object
}

function editBelow(value: unknown, steps: readonly string[], edit: (value: unknown) => unknown): unknown {
  const [step, ...inner] = steps
  if (step === undefined) return edit(value)
  if (Array.isArray(value)) {
    if (step !== '*') return value
    const elements: readonly unknown[] = value
    const edited = elements.map((element) => editBelow(element, inner, edit))
    return edited.every((element, at) => element === elements[at])
      ? value
      : edited.filter((element) => element !== undefined)
  }
  if (!isObject(value)) return value
  if (inner.length > 0 && isOfType(value, step)) return editBelow(value, inner, edit)
  if (!Object.hasOwn(value, step)) return value
  const edited = editBelow(value[step], inner, edit)
  if (edited === value[step]) return value
  if (edited !== undefined) return { ...value, [step]: edited }
  return Object.fromEntries(Object.entries(value).filter(([key]) => key !== step))
}

/** A tool of the caller need not state its type, which is `custom`. */
function isOfType(value: JsonObject, step: string): boolean {
  return (value['type'] ?? 'custom') === step && !(value['type'] === undefined && Object.hasOwn(value, step))
}
