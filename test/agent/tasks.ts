import { quickFix, shopFiles } from './shop.ts'
import { scriptOf } from './support.ts'

/** A small job in the folder `shop`, which a scripted model does with the agent. A person answers its questions. */
export interface SmallTask {
  readonly name: string
  readonly goal: string
  /** What the person answers. */
  readonly isAllowed: boolean
  /** The number of questions that the person is asked. */
  readonly questions: number
  /** Texts that files hold afterwards. All other files stay as they were. */
  readonly changed: Readonly<Record<string, readonly string[]>>
  /** What the person reads. */
  readonly says: string
}

/** No policy comes with the folder, so the person decides on every change and command. */
export const shop: Readonly<Record<string, string>> = Object.fromEntries(
  Object.entries(shopFiles).filter(([path]) => path !== '.agent-policy.yaml'),
)

const newTest = `import assert from 'node:assert/strict'
import { test } from 'node:test'
import { total } from '../src/total.js'

test('costs nothing without items', () => {
  assert.equal(total([]), 0)
})
`

export const smallTasks: readonly SmallTask[] = [
  {
    name: 'fixes a failing test',
    goal: quickFix,
    isAllowed: true,
    questions: 3,
    changed: { 'src/total.js': ['sum + item.price * item.quantity'] },
    says: 'all tests pass',
  },
  {
    name: 'renames a function in all files',
    goal: scriptOf(
      { text: 'Where is it used?', calls: [{ tool: 'search_code', args: { query: 'total', glob: '**/*.js' } }] },
      {
        calls: ['src/total.js', 'test/total.test.js'].map((path) => ({
          tool: 'edit_replace',
          args: path.startsWith('src')
            ? { path, oldText: 'function total(', newText: 'function orderTotal(' }
            : { path, oldText: 'total }', newText: 'orderTotal as total }' },
        })),
      },
      { text: 'The function is orderTotal in both files.' },
    ),
    isAllowed: true,
    questions: 2,
    changed: {
      'src/total.js': ['export function orderTotal(items)'],
      'test/total.test.js': ['import { orderTotal as total }'],
    },
    says: 'orderTotal in both files',
  },
  {
    name: 'adds a test and runs it',
    goal: scriptOf(
      {
        text: 'One case is missing.',
        calls: [{ tool: 'createFile', args: { path: 'test/empty.test.js', content: newTest } }],
      },
      { calls: [{ tool: 'shell_run', args: { argv: ['node', 'test/empty.test.js'] } }] },
      { text: 'The new test passes.' },
    ),
    isAllowed: true,
    questions: 2,
    changed: { 'test/empty.test.js': ["test('costs nothing without items'"] },
    says: 'The new test passes.',
  },
  {
    name: 'explains code and names the place',
    goal: scriptOf(
      {
        calls: [
          { tool: 'search_code', args: { query: 'reduce' } },
          { tool: 'fs_read', args: { path: 'src/total.js' } },
        ],
      },
      { text: 'The sum ignores the quantity of an item: src/total.js:3.' },
    ),
    isAllowed: true,
    questions: 0,
    changed: {},
    says: 'src/total.js:3',
  },
  {
    name: 'runs no dangerous command that the person refuses',
    goal: scriptOf(
      { text: 'I make room.', calls: [{ tool: 'shell_run', args: { argv: ['rm', '-rf', 'src', 'test'] } }] },
      { text: 'I leave the folders as they are.' },
    ),
    isAllowed: false,
    questions: 1,
    changed: {},
    says: 'I leave the folders as they are.',
  },
]

/** Compares the files of a folder with what a task is to leave in it. @param read the text of a file, by its path */
export async function differencesOf(
  task: SmallTask,
  read: (path: string) => Promise<string>,
): Promise<readonly string[]> {
  const paths = new Set([...Object.keys(shop), ...Object.keys(task.changed)])
  const found = await Promise.all(
    [...paths].map(async (path) => {
      const text = await read(path)
      const wanted = task.changed[path]
      if (wanted === undefined) return text === shop[path] ? [] : [`${path} was changed`]
      return wanted.filter((part) => !text.includes(part)).map((part) => `${path} lacks ${part}`)
    }),
  )
  return found.flat()
}
