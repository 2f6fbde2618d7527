import { expect, test } from 'vitest'
import { failed, ok, skipped, warning, runChecks } from '../../../src/commands/doctor/check.ts'
import type { Check, Findings } from '../../../src/commands/doctor/check.ts'

const never = new Promise<Findings>(() => {})
const options = { deadline: () => new AbortController().signal, describeDefect: () => 'described' }

function check(id: string, findings: Findings | Promise<Findings>, needs: readonly Check[] = []): Check {
  return { id, title: `The ${id}`, needs: needs.map(({ title }) => title), run: () => Promise.resolve(findings) }
}

async function statuses(checks: readonly Check[]): Promise<readonly string[]> {
  const all: string[] = []
  for await (const report of runChecks(checks, options)) {
    all.push(...report.findings.map(({ status, detail }) => `${report.check.id} ${status} ${detail}`))
  }
  return all
}

test('reports keep the order of the list, whichever check ends first', async () => {
  const { promise, resolve } = Promise.withResolvers<Findings>()
  const slow = check('slow', promise)
  const quick: Check = { ...check('quick', ok('b')), run: async () => (resolve(ok('a')), ok('b')) }
  expect(await statuses([slow, quick])).toEqual(['slow ok a', 'quick ok b'])
})

test.each([
  [failed('broken', 'Repair it'), 'next skipped The check "The first" did not pass'],
  [skipped('not in use'), 'next skipped The check "The first" did not pass'],
  [warning('loose', 'Tighten it'), 'next ok fine'],
  [ok('good'), 'next ok fine'],
])('after %j', async (findings, expected) => {
  const first = check('first', findings)
  expect((await statuses([first, check('next', ok('fine'), [first])]))[1]).toBe(expected)
})

test('what needs a skipped check is skipped too, and is not run', async () => {
  const ran: string[] = []
  const first = check('first', failed('broken', 'Repair it'))
  const second = check('second', ok(''), [first])
  const third: Check = { ...check('third', ok(''), [second]), run: async () => (ran.push('third'), ok('')) }
  expect((await statuses([first, second, third])).map((line) => line.split(' ')[1])).toEqual([
    'failed',
    'skipped',
    'skipped',
  ])
  expect(ran).toEqual([])
})

test('a check that never ends fails at its deadline, and costs the others nothing', async () => {
  const late = AbortSignal.abort()
  const hung = check('hung', never)
  const reports = []
  for await (const report of runChecks([hung, check('other', ok('fine'))], { ...options, deadline: () => late })) {
    reports.push(report.findings[0])
    if (report.check === hung) {
      expect(report.findings[0]).toMatchObject({
        status: 'failed',
        fix: expect.stringContaining('copilot-proxy doctor'),
      })
    }
  }
  expect(reports).toHaveLength(2)
})

test('a check that throws is reported, without confidential details', async () => {
  const broken: Check = { ...check('broken', ok('')), run: () => Promise.reject(new Error('example-secret')) }
  expect(await statuses([broken])).toEqual(['broken failed This check crashed: described'])
})
