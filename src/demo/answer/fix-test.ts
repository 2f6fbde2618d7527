/** The example of docs/agent.md: a test fails because the total of an order leaves out the quantities. */
export const fixTest = [
  {
    text: 'I run the tests first, to see what fails.',
    calls: [{ tool: 'shell_run', args: { argv: ['npm', 'test'] } }],
  },
  {
    text: 'The total is wrong. I read the test and the code.',
    calls: [
      { tool: 'fs_read', args: { path: 'test/total.test.js' } },
      { tool: 'fs_read', args: { path: 'src/total.js' } },
    ],
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
  { text: 'Now the tests again.', calls: [{ tool: 'shell_run', args: { argv: ['npm', 'test'] } }] },
  { text: 'The total of an order left out the quantities. It counts them now, and all tests pass.' },
]
