import { always, type Rule } from './rule.ts'

/**
 * `null` asks for the default, as absence does, and nothing is lost by leaving it out: no warning. Runs first, so that no
 * other rule meets `null`.
 */
export const nullRule: Rule = {
  name: 'null left out',
  source:
    'OpenAI API reference, chat completions: null is the default; parameters: upstream validates against its own schema',
  applies: always,
  adapt: (request) => {
    const empty = Object.keys(request).filter((key) => request[key] === null)
    if (empty.length === 0) return undefined
    return { patch: Object.fromEntries(empty.map((key) => [key, undefined])), notes: [] }
  },
}
