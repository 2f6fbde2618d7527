import { isObject, type JsonObject } from '../../../json/json.ts'
import { distinctName } from '../ids.ts'
import { mapNested } from '../schema/keywords.ts'

const LONGEST = 64

/** The names of properties that Claude takes. Source: docs/copilot-wire.md, "Tool schemas". */
const LEGAL = /^[a-zA-Z0-9_.-]{1,64}$/

/**
 * Gives the properties of a schema names that Claude takes. A new name depends on the old one, so that every request of
 * a session has the same.
 * @param renamed gets the old name of each new one
 */
export function nameProperties(root: JsonObject, renamed: Map<string, string>): JsonObject {
  const fit = (schema: unknown): unknown => {
    if (!isObject(schema)) return schema
    const { properties, required } = schema
    const names = isObject(properties) ? Object.keys(properties) : []
    if (!isObject(properties) || names.every((name) => LEGAL.test(name))) return mapNested(schema, fit)
    const legal = new Map(names.map((name) => [name, LEGAL.test(name) ? name : newName(name, properties)]))
    for (const [name, upstream] of legal) if (upstream !== name) renamed.set(upstream, name)
    const named = {
      ...schema,
      properties: Object.fromEntries(Object.entries(properties).map(([name, value]) => [legal.get(name), value])),
      ...(Array.isArray(required) && { required: required.map((name: string) => legal.get(name) ?? name) }),
    }
    return mapNested(named, fit)
  }
  const fitted = fit(root)
  return isObject(fitted) ? fitted : root
}

function newName(name: string, siblings: JsonObject): string {
  let legal = distinctName(name, LONGEST)
  while (Object.hasOwn(siblings, legal)) legal = distinctName(legal, LONGEST)
  return legal
}

/** Renames the keys of JSON text that arrives in pieces. */
export interface KeyRenamer {
  /** Returns the text that no later piece can change. */
  readonly push: (piece: string) => string
  /** Returns the remaining text. */
  readonly end: () => string
}

/** All text but the renamed keys stays as it is, also text that is no JSON. */
export function createKeyRenamer(names: ReadonlyMap<string, string>): KeyRenamer {
  // Each character of a key may be an escape of six.
  const longest = 6 * Math.max(...[...names.keys()].map(({ length }) => length)) + 2
  /** A string that may be a key to rename, and the white space after it. */
  let token = ''
  let place: 'outside' | 'inside' | 'inside, too long' | 'after' = 'outside'
  let isEscaped = false

  function release(next: typeof place): string {
    const text = token
    token = ''
    place = next
    return text
  }

  function step(char: string): string {
    if (place === 'after') {
      if (/\s/.test(char)) {
        token += char
        return ''
      }
      const text = release('outside')
      return (char === ':' ? renamedKey(text, names) : text) + step(char)
    }
    if (place === 'outside' && char !== '"') return char
    token += char
    if (place === 'outside') place = 'inside'
    else if (isEscaped) isEscaped = false
    else if (char === '\\') isEscaped = true
    else if (char === '"') {
      if (place === 'inside, too long') return release('outside')
      place = 'after'
      return ''
    }
    if (place === 'inside' && token.length <= longest) return ''
    return release('inside, too long')
  }

  return {
    push(piece) {
      let text = ''
      for (const char of piece) text += step(char)
      return text
    },
    end: () => release('outside'),
  }
}

function renamedKey(token: string, names: ReadonlyMap<string, string>): string {
  const text = token.trimEnd()
  try {
    const key: unknown = JSON.parse(text)
    const name = names.get(String(key))
    return name === undefined ? token : JSON.stringify(name) + token.slice(text.length)
  } catch {
    return token
  }
}

/** Renames the keys in the arguments of an earlier call. */
export function renameKeys(text: string, names: ReadonlyMap<string, string>): string {
  const renamer = createKeyRenamer(names)
  return renamer.push(text) + renamer.end()
}
