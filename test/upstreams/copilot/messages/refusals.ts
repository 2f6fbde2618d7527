import { invalidBody } from '../../../../src/demo/failures.ts'
import type { Outcome } from '../../../../src/demo/outcome.ts'

// Sentences of Anthropic's validation. A path is joined by dots: `messages.0.content.1`.

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
