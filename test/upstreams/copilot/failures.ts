import { failure, invalidBody } from '../../../src/demo/failures.ts'
import type { DemoModel } from '../../../src/demo/models.ts'
import type { WholeReply } from '../../../src/demo/outcome.ts'

/** A refusal by the validation against the JSON schema. `reason` as in docs/copilot-wire.md, "Parameters by model". */
export function schemaFailure(reason: string, location: string): WholeReply {
  return invalidBody(
    `invalid request body, failed to validate schema: (1) Reason: ${reason}, Location: ${location || '/'}`,
  )
}

export function missingVisionHeader(): WholeReply {
  return failure(400, { message: 'missing required Copilot-Vision-Request header for vision requests', code: '' })
}

/** The refusal of an effort that the model does not list, the same on every route. */
export function invalidEffort(effort: string, { id, efforts }: DemoModel): WholeReply {
  const message =
    efforts.length === 0
      ? `model ${id} does not support reasoning effort`
      : `reasoning effort "${effort}" is not supported by model ${id}; supported values: [${efforts.join(' ')}]`
  return failure(400, { message, code: 'invalid_reasoning_effort' })
}
