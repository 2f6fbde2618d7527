import { fc } from '../fast-check.ts'
import { describe, expect, test } from 'vitest'
import { createCounter, createHistogram, formatGauge } from '../../src/usage/exposition.ts'
import { readExposition } from '../http/read-exposition.ts'

const family = { name: 'jobs_total', help: 'What was\ndone \\ said.' }

describe('the text format', () => {
  test('is announced with its help and its type, and empty where there is nothing to say', () => {
    const counter = createCounter(family, ['kind'])
    expect(counter.render()).toBe('')
    counter.add(['a'])
    counter.add(['b'], 2)
    counter.add(['a'])
    expect(counter.render()).toBe(
      '# HELP jobs_total What was\\ndone \\\\ said.\n# TYPE jobs_total counter\n' +
        'jobs_total{kind="a"} 2\njobs_total{kind="b"} 2\n',
    )
    expect(formatGauge({ name: 'now', help: 'Now.' }, 3)).toBe('# HELP now Now.\n# TYPE now gauge\nnow 3\n')
  })

  test('adds up fractions as people do', () => {
    const counter = createCounter(family, [])
    for (const amount of [0.1, 0.2]) counter.add([], amount)
    expect(counter.render()).toContain('jobs_total 0.3\n')
  })

  test('counts a value on a bound in its bucket, and one beyond all in the last', () => {
    const histogram = createHistogram({ name: 'took_seconds', help: 'Took.' }, [], [1, 2.5])
    for (const value of [0, 1, 1.5, 2.5, 99]) histogram.observe([], value)
    expect(histogram.render()).toBe(
      '# HELP took_seconds Took.\n# TYPE took_seconds histogram\ntook_seconds_bucket{le="1"} 2\n' +
        'took_seconds_bucket{le="2.5"} 4\ntook_seconds_bucket{le="+Inf"} 5\ntook_seconds_sum 104\ntook_seconds_count 5\n',
    )
  })

  test('reproduces any label value', () => {
    const marks = ['a', '"', '\\', '\n', 'n', ',', '}', '=', ' ']
    const anyText = fc.string({ unit: fc.constantFrom(...marks) })
    const pairsOfText = fc.uniqueArray(fc.tuple(anyText, anyText), { selector: (pair) => JSON.stringify(pair) })
    fc.assert(
      fc.property(pairsOfText, (pairs) => {
        const counter = createCounter(family, ['one', 'two'])
        for (const pair of pairs) counter.add(pair)
        const text = counter.render()
        const samples = text === '' ? [] : (readExposition(text)[0]?.samples ?? [])
        expect(samples.map(({ labels }) => [labels['one'], labels['two']])).toEqual(pairs)
      }),
    )
  })

  test('adds up over any values', () => {
    const value = fc.double({ min: 0, max: 1000, noNaN: true })
    const values = fc.array(fc.tuple(fc.constantFrom('a', 'b'), value), { minLength: 1 })
    fc.assert(
      fc.property(values, (observed) => {
        const histogram = createHistogram({ name: 'took_seconds', help: 'Took.' }, ['kind'], [0.1, 1, 10, 100])
        for (const [kind, amount] of observed) histogram.observe([kind], amount)
        const { samples } = readExposition(histogram.render())[0] ?? { samples: [] }
        const counts = samples.filter(({ name }) => name.endsWith('_count'))
        expect(counts.reduce((sum, count) => sum + count.value, 0)).toBe(observed.length)
      }),
    )
  })
})
