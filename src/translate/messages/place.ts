import { refuseValue, toFieldPath } from '../parts/invalid.ts'

/** Where something stands in the body, with dots as warnings name it: `messages.3.content.0`. Made only when asked. */
export type Place = () => string

/** @throws Fault `invalid_request` for what no upstream of another dialect can be given */
export function refuseAt(place: Place, detail: string): never {
  refuseValue(toFieldPath(place()), detail, 'unsupported_value')
}
