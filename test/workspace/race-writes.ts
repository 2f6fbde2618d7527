import * as fs from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'vitest'
import { openFolder } from '../../src/workspace/open-folder.ts'
import { startSwapping } from './start-swapping.ts'
import { createTree, failureOf } from './tree.ts'

/** Writes to a folder that is swapped for a link to one outside, and tries to read a file that exists only outside. */
export async function raceWrites(writes: number): Promise<void> {
  const { root, outside } = await createTree()
  await fs.mkdir(join(root, 'src'))
  await fs.writeFile(join(outside, 'secret'), 'secret')
  const racer = await startSwapping(join(root, 'src'), outside)
  const folder = await openFolder(root)
  let written = 0
  let refused = 0
  // Continue until there were both successful and refused writes.
  for (let done = 0; done < writes || written === 0 || refused === 0; done += 10) {
    const outcomes = await Promise.allSettled(
      Array.from({ length: 10 }, (_, index) => folder.writeFile(`src/${index}/${index}.ts`, Buffer.from(`${done}`))),
    )
    const successes = outcomes.filter(({ status }) => status === 'fulfilled').length
    // This file exists only in the folder outside.
    await failureOf(folder.readFile('src/secret', { maxBytes: 1000 }))
    written += successes
    refused += outcomes.length - successes
  }
  expect(racer.exitCode).toBe(null)
  expect(await fs.readdir(outside)).toEqual(['secret'])
}
