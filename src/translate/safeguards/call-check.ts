import { z } from 'zod'
import type { JsonObject } from '../../json/json.ts'
import type { Warning } from '../warning.ts'

// A caller may want a verdict on each tool call of an answer before it runs the calls (`safeguards` of the Messages API, which
// Claude Code sends in auto mode). This file has the terms that the wire form, the classifier's request and the pipeline share.

const aText = z.string('a string')
const texts = z.array(aText, 'an array of strings').nullish()
const permissionRule = z.looseObject({ rule: aText, source: aText.nullish() }, 'an object with a rule')
const permissionRules = z.array(permissionRule, 'an array of rules').nullish()

/**
 * The rules of the user and the surroundings of the calls. Members that nothing here reads go to the classifier as they are.
 * Source: Claude Code 2.1.329, as recorded on the wire.
 */
export const classifierContext = z.looseObject(
  {
    v: z.literal(1, 'version 1'),
    live_cwd: aText.nullish(),
    home_dir: aText.nullish(),
    rule_roots: z.record(aText, z.unknown(), 'an object').nullish(),
    case_insensitive_paths: z.unknown().optional(),
    rules: z
      .looseObject({ allow: permissionRules, deny: permissionRules, ask: permissionRules }, 'an object of rules')
      .nullish(),
    auto_mode: z
      .looseObject({ allow: texts, soft_deny: texts, hard_deny: texts, environment: texts }, 'an object of lists')
      .nullish(),
  },
  'an object',
)
export type ClassifierContext = z.infer<typeof classifierContext>
export type PermissionRule = z.infer<typeof permissionRule>

/** A tool call of an answer. */
export interface AnswerCall {
  readonly id: string
  readonly name: string
  /** Undefined: the arguments are no JSON object, as those of a call that was cut short. */
  readonly input: JsonObject | undefined
}

/** The verdict on one call, as the wire writes it. Source: the gateway contract of Claude Code 2.1.329. */
export type CallVerdict =
  | {
      readonly type: 'evaluated'
      readonly outcome: 'flagged' | 'not_flagged'
      /** The caller's model reads it. */
      readonly explanation?: string
      readonly cited_rule?: { readonly type: 'classifier_context'; readonly path: string }
    }
  | { readonly type: 'unavailable'; readonly reason: 'timeout' | 'error' | 'refused' | 'input_too_long' | 'truncated' }

/** By the id of the call. */
export type Verdicts = ReadonlyMap<string, CallVerdict>

/** Everything that the classifier reads besides the calls. Short, because it is kept until the answer ends. */
export interface CheckSubject {
  readonly context: ClassifierContext
  /** One line of JSON for each entry, the oldest first. */
  readonly conversation: readonly string[]
}

/** Adds verdicts to the stream of an answer. */
export interface CheckedStream {
  /** Takes text of the answer's stream. Returns what the caller may have before the verdicts are known. */
  readonly push: (text: string) => string
  /** The calls of the answer, once all its text was pushed. */
  readonly calls: () => readonly AnswerCall[]
  /** Returns the end of the stream, with the verdicts. */
  readonly end: (verdicts: Verdicts) => string
}

/** The check that a request asks for, in the dialect of its caller. */
export interface CallCheck {
  readonly subject: CheckSubject
  readonly warnings: readonly Warning[]
  readonly createStream: () => CheckedStream
  /** The calls in the body of a whole answer. */
  readonly callsIn: (body: unknown) => readonly AnswerCall[]
  readonly addVerdicts: (body: unknown, verdicts: Verdicts) => unknown
}
