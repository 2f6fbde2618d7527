import { isObject, type JsonObject } from '../../json/json.ts'

// A path is a text in upstream's form: `input[0].phase` or `tools.0.custom.name`. Edits replace each position by every
// element, which is written `[]` or `*`.

/** Converts `input[0].phase` to `input[].phase`, and `tools.0.name` to `tools.*.name`. */
export function withoutPositions(path: string): string {
  return path.replaceAll(/\[\d*\]/g, '[]').replaceAll(/(?<=^|\.)\d+(?=\.|$)/g, '*')
}

/** Splits a path into keys, with `*` for every element. */
export function stepsOf(path: string): readonly string[] {
  return withoutPositions(path).replaceAll('[]', '.*').split('.')
}

/** Removes the values at the paths. Returns the same object if it has none of them. */
export function removeAt(object: JsonObject, ...paths: readonly string[]): JsonObject {
  return paths.reduce((kept, path) => editAt(kept, path, () => undefined), object)
}

/**
 * Replaces each value at the path by the result of `edit`; undefined removes the member or the element. Returns the
 * same object, with the same arrays and objects in it, if nothing changes.
 *
 * A step may also be the `type` of the value that it enters, because the Messages API names types in paths:
 * `tools.*.custom.eager_input_streaming` (docs/copilot-wire.md, "messages, unknown fields").
 */
export function editAt(object: JsonObject, path: string, edit: (value: unknown) => unknown): JsonObject {
  const steps = stepsOf(path)
  // The first step is always a member, because a request body has no type.
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

/** A tool without a type is a `custom` tool. */
function isOfType(value: JsonObject, step: string): boolean {
  return (value['type'] ?? 'custom') === step && !(value['type'] === undefined && Object.hasOwn(value, step))
}
