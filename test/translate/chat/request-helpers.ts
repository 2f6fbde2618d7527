import type { ProxyError } from '../../../src/errors.ts'
import { Fault } from '../../../src/errors.ts'
import type { ModelTraits } from '../../../src/translate/model-traits.ts'
import { decodeChatRequest } from '../../../src/translate/chat/decode-request.ts'
import { passChatRequest } from '../../../src/translate/chat/pass-request.ts'

export const hello = [{ role: 'user', content: 'hello' }]

export function traits(id: string, rest: Partial<ModelTraits> = {}): ModelTraits {
  return { id, family: id, supports: {}, ...rest }
}

export interface PassOptions {
  readonly model?: ModelTraits
  readonly historyWindow?: number
  readonly strict?: boolean
}

/** What upstream gets for a caller's body. The body is frozen, so that a rule which changes it fails the test. */
export function pass(
  body: unknown,
  { model = traits('gpt-4.1'), historyWindow = 0, strict = false }: PassOptions = {},
) {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  const request = decodeChatRequest(text)
  deepFreeze(request.body.value)
  const encoded = passChatRequest(request, { model, historyWindow, strict })
  const json = encoded.body.toString()
  // Every body here is a JSON object: decodeChatRequest has refused anything else.
  const value = JSON.parse(json) as Record<string, unknown>
  return { json, value, warnings: encoded.warnings }
}

/** The error a call throws. */
export function errorOf(run: () => unknown): ProxyError {
  try {
    run()
  } catch (error) {
    if (error instanceof Fault) return error.error
    throw error
  }
  throw new Error('nothing was thrown')
}

function deepFreeze(value: unknown): void {
  if (typeof value !== 'object' || value === null) return
  Object.freeze(value)
  Object.values(value).forEach(deepFreeze)
}
