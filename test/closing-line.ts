import type { Reporter } from 'vitest/node'

/** Prints the counts of a run on its last line, for scripts that read no terminal colours: `12 passed, 0 failed, 1 skipped`. */
export const closingLine: Reporter = {
  onTestRunEnd(modules, unhandledErrors) {
    const counts = { passed: 0, failed: unhandledErrors.length, skipped: 0, pending: 0 }
    for (const module of modules) {
      const before = counts.failed
      for (const test of module.children.allTests()) counts[test.result().state] += 1
      // A file that fails while it is imported has no tests.
      if (module.state() === 'failed' && counts.failed === before) counts.failed += 1
    }
    const { passed, failed, skipped } = counts
    // The reporters print at the end of the same event; this line comes after them.
    process.once('exit', () => process.stdout.write(`${passed} passed, ${failed} failed, ${skipped} skipped\n`))
  },
}
