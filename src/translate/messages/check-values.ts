import { refuseType } from '../parts/invalid.ts'
import { isObject, type JsonObject } from '../parts/is-object.ts'

/** Names the place of a value in the body; called only when something is wrong there. */
export type Path = () => string

export function checkString(value: unknown, path: Path): asserts value is string {
  if (typeof value !== 'string') refuseType(path(), 'a string', value)
}

export function checkOptionalString(value: unknown, path: Path): void {
  if (value !== undefined && value !== null) checkString(value, path)
}

/** The mark of a block or tool. */
export function checkCacheControl(marked: JsonObject, path: Path): void {
  const mark = marked['cache_control']
  if (mark === undefined || mark === null) return
  if (!isObject(mark)) refuseType(`${path()}.cache_control`, 'an object with a type', mark)
  checkOptionalString(mark['type'], () => `${path()}.cache_control.type`)
  checkOptionalString(mark['ttl'], () => `${path()}.cache_control.ttl`)
}
