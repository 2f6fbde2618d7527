import { isObject } from '../json/json.ts'
import { ToolError } from '../workspace/tool-error.ts'
import type { ToolResult } from './tool.ts'

export type Redact = (text: string) => string

/**
 * Removes known credentials from the texts of a result. Then also removes `sha256`: who has not seen the whole text of a file must
 * not be able to replace it.
 */
export function redactResult(result: ToolResult, redact: Redact): ToolResult {
  const redacted = redactObject(result, redact)
  if (redacted === result) return result
  const { sha256: _, ...others } = redacted
  return others
}

/** Removes known credentials from the message of a failure and from the lines of its conflicts. */
export function redactError(error: ToolError, redact: Redact): ToolError {
  const { failure } = error
  switch (failure.kind) {
    case 'cancelled':
    case 'timed_out':
      return error
    case 'conflict': {
      const conflicts = failure.conflicts.map(({ expected, found, ...place }) => ({
        ...place,
        expected: expected.map(redact),
        found: found.map(redact),
      }))
      return new ToolError({ ...failure, detail: redact(failure.detail), conflicts }, { cause: error.cause })
    }
    case 'invalid_arguments':
    case 'denied':
    case 'too_large':
    case 'approval_refused':
    case 'failed':
      return new ToolError({ ...failure, detail: redact(failure.detail) }, { cause: error.cause })
  }
}

function redactObject(value: Readonly<Record<string, unknown>>, redact: Redact): Readonly<Record<string, unknown>> {
  let isChanged = false
  const entries = Object.entries(value).map(([key, inner]) => {
    const redacted = redactValue(inner, redact)
    isChanged ||= redacted !== inner
    return [key, redacted] as const
  })
  return isChanged ? Object.fromEntries(entries) : value
}

function redactValue(value: unknown, redact: Redact): unknown {
  if (typeof value === 'string') return redact(value)
  if (Array.isArray(value)) {
    const items = value.map((item: unknown) => redactValue(item, redact))
    return items.every((item, index) => item === value[index]) ? value : items
  }
  return isObject(value) ? redactObject(value, redact) : value
}
