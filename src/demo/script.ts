import { z } from 'zod'

/** One answer of a scripted model. */
const scriptStep = z.strictObject({
  text: z.string().optional(),
  /** `raw`: the arguments as they are, e.g. broken JSON. */
  calls: z
    .array(z.strictObject({ tool: z.string(), args: z.unknown().optional(), raw: z.string().optional() }))
    .optional(),
  /** The request fails, for all models or those named. */
  error: z
    .strictObject({
      status: z.int().min(400).max(599),
      code: z.string().optional(),
      models: z.array(z.string()).optional(),
    })
    .optional(),
  /** The answer ends at the output limit. */
  cut: z.boolean().optional(),
  /** The step is repeated without end. */
  forever: z.boolean().optional(),
})
export type ScriptStep = z.infer<typeof scriptStep>

const script = z.array(scriptStep).min(1)

/** @param given JSON, or the name of the built-in script */
export function parseScript(given: string): readonly ScriptStep[] | undefined {
  if (given === 'fix-test') return fixTest
  try {
    return script.parse(JSON.parse(given))
  } catch {
    return undefined
  }
}

const runTests = { tool: 'shell_run', args: { argv: ['npm', 'test'] } }

/** The example of docs/agent.md: a test fails because the total of an order leaves out the quantities. */
export const fixTest: readonly ScriptStep[] = [
  { text: 'I run the tests first, to see what fails.', calls: [runTests] },
  {
    text: 'The total is wrong. I read the test and the code.',
    calls: ['test/total.test.js', 'src/total.js'].map((path) => ({ tool: 'fs_read', args: { path } })),
  },
  {
    text: 'The code ignores the quantity. I multiply by it.',
    calls: [
      {
        tool: 'edit_applyPatch',
        args: {
          unifiedDiff: [
            '--- a/src/total.js',
            '+++ b/src/total.js',
            '@@ -1,4 +1,4 @@',
            ' /** The price of an order. */',
            ' export function total(items) {',
            '-  return items.reduce((sum, item) => sum + item.price, 0)',
            '+  return items.reduce((sum, item) => sum + item.price * item.quantity, 0)',
            ' }',
            '',
          ].join('\n'),
        },
      },
    ],
  },
  { text: 'Now the tests again.', calls: [runTests] },
  { text: 'The total of an order left out the quantities. It counts them now, and all tests pass.' },
]
