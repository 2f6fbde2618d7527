import { z } from 'zod'
import { isObject, type JsonObject } from '../../../json/json.ts'

// The `error` of a schema completes the sentence "expected …" of the 400.
export const aString = z.string('a string')
export const aNumber = z.number('a number')
export const anInteger = z.int('an integer')
export const aBoolean = z.boolean('true or false')
/** Not `z.looseObject`, which walks and copies every member. */
export const anObject = z.custom<JsonObject>(isObject, 'an object')

/** `z.array` would report every wrong element, not only the first. */
export const someStrings = z.custom<readonly string[]>(
  (value) => Array.isArray(value) && value.every((word) => typeof word === 'string'),
  'an array of strings',
)
