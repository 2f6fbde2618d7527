// Reads the file `a` of a workspace as a user without permission. Argument: the folder. Prints the failures as JSON.
import { openFolder } from '../../../src/workspace/open-folder.ts'
import { openPolicy } from '../../../src/workspace/policy/open-policy.ts'
import { ToolError } from '../../../src/workspace/tool-error.ts'
import { confirming } from '../policy/confirm.ts'

const [, , root = ''] = process.argv
if (process.getuid?.() === 0) {
  process.setgid?.(65_534)
  process.setuid?.(65_534)
}
const failures: unknown[] = []
for (const held of [true, false]) {
  const folder = await openFolder(root, { held })
  try {
    await folder.readFile('a', { maxBytes: 1000 })
    failures.push('none')
  } catch (error) {
    failures.push(error instanceof ToolError ? error.failure : String(error))
  }
}
const log = { warn: () => {}, info: () => {}, error: () => {}, debug: () => {} }
const policy = openPolicy(await openFolder(root), { consents: confirming(root), log })
process.stdout.write(JSON.stringify({ failures, policy: await policy.mayWrite('x') }))
