import { expect, test } from 'vitest'
import { isObject, type JsonObject } from '../../../src/json/json.ts'
import type { Model } from '../../../src/models/model.ts'
import type { UpstreamDialectId } from '../../../src/translate/dialect.ts'
import { answerTo, callsIn, offeredTools, stopsOf, textIn, type NamedCall } from './answers.ts'
import { errorIn, openBoundary } from './ask.ts'
import { modelsOf, pathOf, upstreamIds, type UpstreamId } from './models.ts'
import { changesBetween, goldenFiles, groupEqual, isVerbatim, parseExactly, printed } from './print.ts'
import { requestFixtures, type RequestFixture } from './request-fixtures.ts'

// What each upstream gets for each request. A golden has one entry for each group of models that get the same.

const { ask } = openBoundary()

const fileOf = ({ caller, name }: RequestFixture, upstream: UpstreamId): string => `${caller}-${upstream}/${name}.json`

const cases = requestFixtures.flatMap((fixture) =>
  upstreamIds.map((upstream) => [`${fixture.caller} ${fixture.name} to ${upstream}`, fixture, upstream] as const),
)

test.each(cases)('%s', async (_, fixture, upstream) => {
  const results: (readonly [string, Outcome])[] = []
  for (const model of modelsOf[upstream]) results.push([model.id, await outcomeOf(fixture, upstream, model)])
  await expect(printed(shown(fixture, upstream, groupEqual(results)))).toMatchFileSnapshot(
    `../../golden/requests/${fileOf(fixture, upstream)}`,
  )
})

test('every golden has its request', () => {
  expect(goldenFiles('requests')).toEqual(cases.map(([, fixture, upstream]) => fileOf(fixture, upstream)).toSorted())
})

/** Stands for the model's id, by which the models of a group would differ. */
const MODEL = '(the model)'

function speaksOwn(caller: UpstreamDialectId, upstream: UpstreamId): boolean {
  return pathOf[upstream] === pathOf[caller]
}

/** What became of a request. */
interface Outcome {
  /** Of the caller's reply, if nothing was sent. */
  readonly refused?: unknown
  readonly warnings?: readonly string[]
  readonly headers?: unknown
  /** The call says that an image is in the request. */
  readonly hasImage?: true
  readonly body?: JsonObject
  /** The body as it was sent, if parsing it would lose something. */
  readonly text?: string
  /** How the caller gets the call of a tool, by upstream's name, if it differs from upstream's. */
  readonly renamed?: Readonly<Record<string, NamedCall>>
  /** The calls that the caller gets, if it gets more or fewer than upstream sent. */
  readonly calls?: readonly NamedCall[]
  /** What the caller gets of a text with a stop sequence in it, if it does not get all. */
  readonly textUntilStop?: string
}

async function outcomeOf(fixture: RequestFixture, upstream: UpstreamId, model: Model): Promise<Outcome> {
  const { caller, body, headers } = fixture
  const answerText = `one${stopsOf(body)[0] ?? ' and '}two`
  const asked = await ask({
    caller,
    body,
    headers,
    upstream,
    model,
    respond: (call) => answerTo(pathOf[upstream], String(call.body), answerText),
  })
  const [call, ...others] = asked.calls
  if (call === undefined) return { refused: errorIn(asked) }
  expect({ status: asked.status, others }).toEqual({ status: 200, others: [] })
  const sentText = String(call.body)
  const sent = parseExactly(sentText)
  if (!isObject(sent)) throw new Error('the body is no object')
  expect(sent['model']).toBe(model.id)
  const text = textIn(asked.reply)
  return {
    ...(asked.warnings.length > 0 && {
      warnings: asked.warnings.map((warning) => warning.replaceAll(model.id, MODEL)),
    }),
    ...(Object.keys(call.headers ?? {}).length > 0 && { headers: call.headers }),
    ...(call.hasImage && { hasImage: true }),
    body: { ...sent, model: MODEL },
    ...(speaksOwn(caller, upstream) && isVerbatim(body) && { text: sentText.replace(model.id, MODEL) }),
    ...renamedCalls(offeredTools(sent), callsIn(asked.reply)),
    ...(text !== answerText && { textUntilStop: text }),
  }
}

function renamedCalls(sent: readonly NamedCall[], received: readonly NamedCall[]): Pick<Outcome, 'renamed' | 'calls'> {
  if (received.length !== sent.length) return { calls: received }
  const renamed = sent.flatMap((call, at) => {
    const other = received[at]
    const isSame = other === undefined || JSON.stringify(call) === JSON.stringify(other)
    return isSame ? [] : [[call.namespace === undefined ? call.name : `${call.namespace}.${call.name}`, other] as const]
  })
  return renamed.length === 0 ? {} : { renamed: Object.fromEntries(renamed) }
}

/**
 * The outcome of the first group, and how those of the others differ from it. A body in the dialect of the caller is shown as
 * changes of the caller's own.
 */
function shown({ caller, body }: RequestFixture, upstream: UpstreamId, groups: ReturnType<typeof groupEqual<Outcome>>) {
  const [first] = groups
  return groups.map((group) => {
    const { names: models, value } = group
    if (group !== first && first !== undefined) return { models, fromFirst: changesBetween(first.value, value) }
    if (value.body === undefined || !speaksOwn(caller, upstream)) return { models, ...value }
    const { body: sent, ...others } = value
    const own = parseExactly(body)
    return { models, ...others, fromCaller: changesBetween(isObject(own) ? { ...own, model: MODEL } : own, sent) }
  })
}
