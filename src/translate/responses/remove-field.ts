import { isObject, type JsonObject } from '../parts/is-object.ts'

/**
 * The object without one member, wherever the path finds it; the very object where it is not there.
 *
 * @param path as in `text.verbosity`, `input[].content[].annotations`; `[]` stands for every element
 */
export function removeField(value: JsonObject, path: string): JsonObject {
  const without = removeAt(value, path.replaceAll('[]', '.[]').split('.'), 0)
  return isObject(without) ? without : value
}

function removeAt(value: unknown, steps: readonly string[], at: number): unknown {
  const step = steps[at]
  if (step === undefined) return value
  if (step === '[]') return Array.isArray(value) ? removeFromEach(value, steps, at + 1) : value
  if (!isObject(value) || !Object.hasOwn(value, step)) return value
  if (at === steps.length - 1) return Object.fromEntries(Object.entries(value).filter(([key]) => key !== step))
  const before = value[step]
  const after = removeAt(before, steps, at + 1)
  return after === before ? value : { ...value, [step]: after }
}

function removeFromEach(values: readonly unknown[], steps: readonly string[], at: number): readonly unknown[] {
  const after = values.map((value) => removeAt(value, steps, at))
  return after.every((value, index) => value === values[index]) ? values : after
}
