import { expect, onTestFinished, test } from 'vitest'
import type { FuzzJob, FuzzReport } from './fuzz/reports.ts'
import { startProgram } from './lib/processes.ts'

/** Inputs altogether. */
const runs = Number(process.env['FUZZ_RUNS'] ?? 1_000_000)
const seed = Number(process.env['FUZZ_SEED'] ?? 1)

/** A request is encoded for three upstreams, and takes longer. */
const kinds = [
  { kind: 'requests', share: 0.4 },
  { kind: 'streams', share: 0.6 },
] as const

/** A process takes this many at a time, so that it says how far it is. */
const batches = 5

async function fuzz(kind: FuzzJob['kind'], processSeed: number, share: number): Promise<readonly FuzzReport[]> {
  const { helper } = await startProgram('fuzz')
  onTestFinished(() => {
    helper.child.kill('SIGKILL')
  })
  const reports: FuzzReport[] = []
  for (let batch = 0; batch < batches; batch += 1) {
    const job = { kind, seed: processSeed + batch * 1000, runs: Math.ceil(share / batches) } satisfies FuzzJob
    // The program answers each job with its report.
    reports.push((await helper.ask(job)) as FuzzReport)
  }
  return reports
}

test('a million mutated requests and streams end in an answer or a ProxyError', async () => {
  const found = await Promise.all(
    kinds.map(({ kind, share }, nth) => fuzz(kind, seed * 1_000_000 + nth * 500_000, runs * share)),
  )
  const lines = found.map((reports, nth) => {
    const sum = (count: (report: FuzzReport) => number): number => reports.reduce((all, one) => all + count(one), 0)
    const [done, answered] = [sum((report) => report.done), sum((report) => report.answered)]
    // Else it would be about refusals alone.
    expect(answered).toBeGreaterThan(done / 5)
    const slowest = reports.toSorted((a, b) => b.slowestMs - a.slowestMs)[0]
    return `  ${kinds[nth]?.kind}: ${done} cases, of which ${answered} were answered, slowest ${slowest?.slowestMs.toFixed(0)} ms (${slowest?.slowest.slice(0, 200)})`
  })
  const defects = [...new Set(found.flat().flatMap((report) => report.defects))]
  process.stdout.write(`\n[soak] fuzz (seed ${seed}): ${defects.length} defects\n${lines.join('\n')}\n`)
  expect(defects).toEqual([])
})
