import { fixTest } from '../../src/demo/script.ts'

/** The example of docs/agent.md, which `[demo:script fix-test]` repairs. */
export const shopFiles: Readonly<Record<string, string>> = {
  'package.json': '{ "name": "shop", "type": "module", "scripts": { "test": "node --test" } }\n',
  'src/total.js': `/** The price of an order. */
export function total(items) {
  return items.reduce((sum, item) => sum + item.price, 0)
}
`,
  'test/total.test.js': `import assert from 'node:assert/strict'
import { test } from 'node:test'
import { total } from '../src/total.js'

test('counts each item as often as it is ordered', () => {
  assert.equal(total([{ price: 2, quantity: 3 }, { price: 5, quantity: 1 }]), 11)
})
`,
  '.agent-policy.yaml': 'writes:\n  allow: ["src/**"]\nshell:\n  allow: ["npm test"]\n',
}

/** Runs the test in a tenth of the time of npm. */
export const quickTest = ['node', 'test/total.test.js'] as const

/** The example with `quickTest` as its test command. */
export const quickShopFiles: typeof shopFiles = {
  ...shopFiles,
  '.agent-policy.yaml': `writes:\n  allow: ["src/**"]\nshell:\n  allow: ["${quickTest.join(' ')}"]\n`,
}

const withQuickTest = JSON.stringify(fixTest).replaceAll('["npm","test"]', JSON.stringify(quickTest))

/** A prompt with which the simulated model repairs `quickShopFiles`. */
export const quickFix = `The test fails. Fix it. [demo:script ${withQuickTest}]`
