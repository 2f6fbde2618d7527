import { fc } from '../../fast-check.ts'
import { checkRequest, bodyOf } from '../fuzz/check-request.ts'
import type { RequestCase } from '../fuzz/check-request.ts'
import { checkStream, eventsOf } from '../fuzz/check-stream.ts'
import type { StreamCase } from '../fuzz/check-stream.ts'
import type { Edit } from '../fuzz/mutate.ts'
import type { FuzzJob, FuzzReport } from '../fuzz/reports.ts'

// Fuzzes in a separate process, so that several can run in parallel. Shrinks each defect, reports it once and then ignores it, so
// that it does not hide others.

const number = fc.nat()
const edit: fc.Arbitrary<Edit> = fc.tuple(number, number, number)
const rarely = <Value>(arbitrary: fc.Arbitrary<Value[]>, weight: number): fc.Arbitrary<Value[]> =>
  fc.oneof({ weight, arbitrary: fc.constant<Value[]>([]) }, { weight: 1, arbitrary })

const requestCases: fc.Arbitrary<RequestCase> = fc.record({
  caller: number,
  base: number,
  edits: fc.array(edit, { maxLength: 6, size: 'max' }),
  textEdits: rarely(fc.array(edit, { minLength: 1, maxLength: 3 }), 19),
  context: number,
  refusal: number,
})

const streamCases: fc.Arbitrary<StreamCase> = fc.record({
  upstream: number,
  caller: number,
  base: number,
  listEdits: fc.array(edit, { maxLength: 3, size: 'max' }),
  eventEdits: fc.array(fc.tuple(number, fc.array(edit, { minLength: 1, maxLength: 3, size: 'max' })), {
    maxLength: 3,
    size: 'max',
  }),
  seed: number,
  cuts: rarely(fc.array(number, { minLength: 1, maxLength: 6 }), 15),
})

/** More defects than this are not worth telling apart. */
const mostDefects = 20

function run<Case>(
  { runs, seed }: FuzzJob,
  cases: fc.Arbitrary<Case>,
  check: (found: Case) => boolean,
  inputOf: (found: Case) => string,
): FuzzReport {
  const known = new Set<string>()
  const defects: string[] = []
  let done = 0
  let answered = 0
  let slowestMs = 0
  let slowest = ''
  const property = fc.property(cases, (found) => {
    const startedAt = performance.now()
    try {
      if (check(found)) answered += 1
    } catch (error) {
      if (!known.has(signatureOf(error))) throw error
    }
    const ms = performance.now() - startedAt
    if (ms > slowestMs) {
      slowestMs = ms
      slowest = JSON.stringify(found)
    }
  })
  for (let round = 0; done < runs && defects.length < mostDefects; round += 1) {
    const outcome = fc.check(property, { seed: seed + round, numRuns: runs - done, endOnFailure: false })
    done += outcome.numRuns
    if (!outcome.failed) break
    const [found] = outcome.counterexample ?? []
    const error = outcome.errorInstance
    known.add(signatureOf(error))
    const described = error instanceof Error ? (error.stack ?? error.message).slice(0, 2000) : String(error)
    const input = found === undefined ? '' : inputOf(found)
    const place = `seed ${seed + round}, path ${outcome.counterexamplePath ?? ''}`
    defects.push([described, place, JSON.stringify(found), input].join('\n'))
  }
  return { done, answered, defects, slowestMs, slowest }
}

/** Where a defect is: the message without its values, and the first line of ours. */
function signatureOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const place = error.stack?.split('\n').find((line) => line.includes('/src/')) ?? ''
  return `${error.message
    .split('\n', 1)[0]
    ?.slice(0, 80)
    .replaceAll(/\d+|"[^"]*"/g, '')} ${place.replace(/.*\/src\//, '').replace(/:\d+\)?$/, '')}`
}

function start(job: FuzzJob): FuzzReport {
  switch (job.kind) {
    case 'requests':
      return run(job, requestCases, checkRequest, (found) => bodyOf(found).slice(0, 2000))
    case 'streams':
      return run(job, streamCases, checkStream, (found) => JSON.stringify(eventsOf(found)).slice(0, 4000))
  }
}

process.on('message', (message: { readonly id: number } & FuzzJob) => {
  process.send?.({ id: message.id, value: start(message) })
})
process.send?.({ ready: true })
