import { ALL_PLANS, CODEX_MODELS, toEntry } from './catalogue.ts'
import type { CodexModel } from './catalogue.ts'
import { detail } from './failures.ts'
import type { CodexPerson } from './tokens.ts'
import { jsonReply } from '../http/outcome.ts'
import type { Outcome } from '../http/outcome.ts'

export function modelsOfPlan(plan: string): readonly CodexModel[] {
  return CODEX_MODELS.filter((model) => isInPlan(model, plan))
}

/** ETag of a person's model list. Replies of `/responses` repeat it as `x-models-etag`. */
export function modelsEtag({ plan }: Pick<CodexPerson, 'plan'>): string {
  return `W/"demo-${plan}"`
}

interface ListCall {
  /** Includes the query. */
  readonly path: string
  readonly ifNoneMatch: string | undefined
  readonly person: CodexPerson
}

/** `GET /backend-api/codex/models?client_version=`. */
export function answerModels({ path, ifNoneMatch, person }: ListCall): Outcome {
  const version = new URL(path, 'http://127.0.0.1').searchParams.get('client_version')
  if (version === null || !/^\d+\.\d+\.\d+/.test(version)) {
    // This is the form of a validation error. Its use by the real backend is a guess.
    return detail(422, [{ type: 'missing', loc: ['query', 'client_version'], msg: 'Field required' }])
  }
  const etag = modelsEtag(person)
  if (ifNoneMatch === etag) return { kind: 'whole', status: 304, headers: { etag }, body: '' }
  const models = modelsOfPlan(person.plan).filter(({ minClient }) => !isNewer(minClient, version))
  return jsonReply(200, { models: models.map((model) => toEntry(model)) }, { etag })
}

/** Unknown plans count as paid, because the set of plans is open. */
function isInPlan({ plans }: CodexModel, plan: string): boolean {
  return plans.includes(plan) || (!ALL_PLANS.includes(plan) && plans.includes('plus'))
}

/** Whether version `a` is above version `b`, number by number. */
function isNewer(a: string, b: string): boolean {
  const [first, second] = [a, b].map((each) => each.split('.').map((part) => Number.parseInt(part, 10)))
  for (const at of [0, 1, 2]) {
    const difference = (first?.[at] ?? 0) - (second?.[at] ?? 0)
    if (difference !== 0) return difference > 0
  }
  return false
}
