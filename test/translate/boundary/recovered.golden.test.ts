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
    const askRefused = () =>
      ask({
        ...fixture,
        upstream,
        model,
        respond: ({ body }, attempt) =>
          attempt === 1 ? { kind: 'upstream_status', status: 400, ...refusal } : answer(body),
      })
    const askAgain = () => ask({ ...fixture, upstream, model, respond: ({ body }) => answer(body) })
    const refused = await askRefused()
    const again = await askAgain()
    // The refusal of a member is learned from its second time.
    const isOpen = refused.learned.length > 0 && bodyOf(again, 0) === bodyOf(refused, 0)
    const twice = isOpen && (await askRefused()) && (await askAgain())
    const isLearned = twice !== false && bodyOf(twice, 0) !== bodyOf(refused, 0)
    results.push({ request, ...outcome(refused, again, isLearned ? twice : undefined) })
  }
  await expect(printed({ model: id, refusal, results })).toMatchFileSnapshot(
    `../../golden/recovered/${upstream}/${name}.json`,
  )
})

test('every golden has its refusal', () => {
  expect(goldenFiles('recovered')).toEqual(cases.map(([, upstream, { name }]) => `${upstream}/${name}.json`).toSorted())
})

function bodyOf({ calls }: Asked, at: number): string {
  return String(calls[at]?.body)
}

/** @param twice the same request after a second refusal, if only that one is learned */
function outcome(refused: Asked, again: Asked, twice: Asked | undefined) {
  const [first, second, ...others] = refused.calls
  if (first === undefined) throw new Error('nothing was sent')
  expect(others).toEqual([])
  if (second === undefined) return { refused: errorIn(refused) }
  const [before, recovered, after, last] = [first, second, again.calls[0], twice?.calls[0]].map(
    (call) => call && { headers: call.headers, hasImage: call.hasImage, body: parseExactly(String(call.body)) },
  )
  const comparedTo = (sent: unknown) =>
    sameAs({ 'as recovered': recovered, 'as refused': before }, sent) ?? changesBetween(before, sent)
  return {
    warnings: refused.warnings,
    learned: refused.learned,
    recovered: changesBetween(before, recovered),
    next: comparedTo(after),
    ...(last !== undefined && { 'next after a second refusal': comparedTo(last) }),
  }
}

function sameAs(known: Readonly<Record<string, unknown>>, value: unknown): string | undefined {
  const text = JSON.stringify(value)
  return Object.keys(known).find((name) => JSON.stringify(known[name]) === text)
}
