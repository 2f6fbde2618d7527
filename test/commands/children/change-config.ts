// Adds and removes a key of a configuration file over and over until it is killed; says so after the first time.
// Arguments: file.
import { flushCompileCache } from 'node:module'
import { addApiKey, apiKeysOf, removeApiKey } from '../../../src/config/api-keys.ts'
import { changeConfigFile } from '../../../src/commands/shared/edit-file.ts'

// A process that is killed writes none at its end.
flushCompileCache()
const [, , path = ''] = process.argv
const entry = `laptop:sha256:${'0123456789abcdef'.repeat(4)}`
for (let n = 0; ; n += 1) {
  await changeConfigFile({ path, signal: new AbortController().signal, now: Date.now }, (text) => {
    const changed = apiKeysOf(text).length === 0 ? addApiKey(text, entry) : removeApiKey(text, 0)
    if (changed === undefined) throw new Error('the file cannot be edited')
    return changed
  })
  if (n === 0) process.stdout.write('started\n')
}
