import { invalidBody } from '../failures.ts'
import type { Outcome } from '../../http/outcome.ts'

// The wording of Anthropic's validation. Dots join the path: `messages.0.content.1`.

export function extraInput(path: string): Outcome {
  return invalidBody(`${path}: Extra inputs are not permitted`)
}

export function fieldRequired(path: string): Outcome {
  return invalidBody(`${path}: Field required`)
}

export function unknownTag(path: string, tag: string, known: Iterable<string>): Outcome {
  const list = [...known].map((each) => `'${each}'`).join(', ')
  return invalidBody(`${path}: Input tag '${tag}' found using 'type' does not match any of the expected tags: ${list}`)
}
