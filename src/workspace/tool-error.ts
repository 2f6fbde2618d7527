import { cutText } from '../json/cut-text.ts'

/** The failure of a tool. Each kind has the data for its message, and no file contents beyond that. */
export type ToolFailure =
  /** `path` names the argument, e.g. `range.start`; '' means all arguments. */
  | { readonly kind: 'invalid_arguments'; readonly path: string; readonly detail: string }
  /** The root of the workspace, its policy or `workspace.read-only` forbids the call. */
  | { readonly kind: 'denied'; readonly detail: string }
  /** A patch or a stated hash does not match the file. No file was changed. */
  | { readonly kind: 'conflict'; readonly detail: string; readonly conflicts: readonly Conflict[] }
  | { readonly kind: 'too_large'; readonly detail: string }
  | { readonly kind: 'timed_out'; readonly afterMs: number }
  /** A person refused the approval, or nobody could be asked. */
  | { readonly kind: 'approval_refused'; readonly detail: string }
  | { readonly kind: 'cancelled' }
  /** Other failures that the caller can handle: a missing file, a binary file, a program that is not installed. */
  | {
      readonly kind: 'failed'
      readonly detail: string
      /** The error code of a provider, e.g. `NOT_FOUND` or `DISCONNECTED`. */
      readonly errorCode?: string
    }

/** A place where a patch does not match. */
export interface Conflict {
  /** Relative to the root, with `/`. */
  readonly path: string
  /** 1-based line in the file at which the text was expected; undefined for a conflict of the whole file. */
  readonly line?: number
  /** The lines that the patch expects. */
  readonly expected: readonly string[]
  /** The lines that the file has there. */
  readonly found: readonly string[]
}

export class ToolError extends Error {
  override readonly name = 'ToolError'
  readonly failure: ToolFailure

  constructor(failure: ToolFailure, options?: ErrorOptions) {
    const bounded = boundedFailure(failure)
    super(messageOf(bounded), options)
    this.failure = bounded
  }
}

/** What the caller has sent may be part of a message. Longer than any other message. Characters. */
const longestDetail = 8000
const longestPath = 500

function boundedFailure(failure: ToolFailure): ToolFailure {
  if (!('detail' in failure)) return failure
  const detail = cutText(failure.detail, longestDetail)
  return failure.kind === 'invalid_arguments'
    ? { ...failure, detail, path: cutText(failure.path, longestPath) }
    : { ...failure, detail }
}

function messageOf(failure: ToolFailure): string {
  switch (failure.kind) {
    case 'invalid_arguments':
      return failure.path === '' ? failure.detail : `${failure.path}: ${failure.detail}`
    case 'timed_out':
      return `The tool did not finish within ${failure.afterMs / 1000} s and was stopped.`
    case 'cancelled':
      return 'The call was cancelled.'
    case 'denied':
    case 'conflict':
    case 'too_large':
    case 'approval_refused':
    case 'failed':
      return failure.detail
  }
}

export function failed(detail: string, cause?: unknown): ToolError {
  return new ToolError({ kind: 'failed', detail }, { cause })
}

export function denied(detail: string): ToolError {
  return new ToolError({ kind: 'denied', detail })
}

export function cancelled(): ToolError {
  return new ToolError({ kind: 'cancelled' })
}

/** Quotes a text for a message, short and on one line. */
export function quote(text: string): string {
  return JSON.stringify(text.length > 200 ? `${text.slice(0, 200)}…` : text)
}
