import { rememberResults } from '../cache/remember-results.ts'
import { isObject } from './json.ts'

const camelCase = /^[a-z][a-z0-9]*(?:[A-Z][a-z0-9]*)+$/

/** `requestId` to `request_id`; other names unchanged. */
export const snakeName = rememberResults((key) =>
  camelCase.test(key) ? key.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`) : key,
)

/** A value with the names of its keys in snake_case, as `snakeKeys` makes it. */
export type SnakeKeys<Value> = Value extends readonly (infer Item)[]
  ? readonly SnakeKeys<Item>[]
  : Value extends object
    ? { readonly [Key in keyof Value as Key extends string ? SnakeName<Key> : Key]: SnakeKeys<Value[Key]> }
    : Value

type SnakeName<Name extends string> = Name extends `${infer Letter}${infer Tail}`
  ? `${Letter extends Lowercase<Letter> ? Letter : `_${Lowercase<Letter>}`}${SnakeName<Tail>}`
  : Name

/** An object of ours as HTTP clients and readers of the log get it: camelCase keys in snake_case, others unchanged. */
export function snakeKeys<Value extends object>(value: Value): SnakeKeys<Value>
export function snakeKeys(value: object): object {
  const snake: Record<string, unknown> = {}
  for (const [key, member] of Object.entries(value)) snake[snakeName(key)] = snakeMember(member)
  return snake
}

function snakeMember(member: unknown): unknown {
  if (Array.isArray(member)) return member.map(snakeMember)
  return isObject(member) ? snakeKeys(member) : member
}
