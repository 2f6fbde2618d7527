import { expect, test } from 'vitest'
import { answerTo } from './answers.ts'
import { errorIn, openBoundary, type Asked } from './ask.ts'
import { modelsOf, pathOf, upstreamIds } from './models.ts'
import { changesBetween, goldenFiles, parseExactly, printed } from './print.ts'
import { refusalsOf } from './refusals.ts'
import { requestFixtures } from './request-fixtures.ts'

// What becomes of a request that upstream refuses: the request that is sent instead, what is learned from the refusal, and how
// the same request goes out the next time. Changes are those of the refused request.

const { ask, waitTillForgotten } = openBoundary()

const cases = upstreamIds.flatMap((upstream) =>
  refusalsOf[upstream].map((each) => [`${upstream} refuses: ${each.name}`, upstream, each] as const),
)

test.each(cases)('%s', async (_, upstream, { name, model: id, refusal, of }) => {
  const model = modelsOf[upstream].find((each) => each.id === id)
  if (model === undefined) throw new Error(`no model ${id}`)
  const results: unknown[] = []
  for (const request of of) {
    const fixture = requestFixtures.find((each) => `${each.caller}/${each.name}` === request)
    if (fixture === undefined) throw new Error(`no request ${request}`)
    waitTillForgotten()
    const answer = (body: string | Buffer): string => answerTo(pathOf[upstream], String(body), 'one and two')
    const refused = await ask({
      ...fixture,
      upstream,
      model,
      respond: ({ body }, attempt) =>
        attempt === 1 ? { kind: 'upstream_status', status: 400, ...refusal } : answer(body),
    })
    const again = await ask({ ...fixture, upstream, model, respond: ({ body }) => answer(body) })
    results.push({ request, ...outcome(refused, again) })
  }
  await expect(printed({ model: id, refusal, results })).toMatchFileSnapshot(
    `../../golden/recovered/${upstream}/${name}.json`,
  )
})

test('every golden has its refusal', () => {
  expect(goldenFiles('recovered')).toEqual(cases.map(([, upstream, { name }]) => `${upstream}/${name}.json`).toSorted())
})

function outcome(refused: Asked, again: Asked) {
  const [first, second, ...others] = refused.calls
  if (first === undefined) throw new Error('nothing was sent')
  expect(others).toEqual([])
  if (second === undefined) return { refused: errorIn(refused) }
  const [next] = again.calls
  const [before, recovered, after] = [first, second, next].map(
    (call) => call && { headers: call.headers, hasImage: call.hasImage, body: parseExactly(String(call.body)) },
  )
  return {
    warnings: refused.warnings,
    learned: refused.learned,
    recovered: changesBetween(before, recovered),
    next: sameAs({ 'as recovered': recovered, 'as refused': before }, after) ?? changesBetween(before, after),
  }
}

function sameAs(known: Readonly<Record<string, unknown>>, value: unknown): string | undefined {
  const text = JSON.stringify(value)
  return Object.keys(known).find((name) => JSON.stringify(known[name]) === text)
}
