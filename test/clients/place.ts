import { mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import type { Place } from './client.ts'

/** Beside the clients and not among the temporary files, where Codex does not want its home to be. */
const homes = join(import.meta.dirname, 'node_modules/.cache')

/** A small PNG: one transparent pixel. */
export const pixel = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNkYAAAAAYAAjCB0C8AAAAASUVORK5CYII='

/** An empty home and a workspace with two notes and a picture, removed when the test ends. */
export async function openPlace(): Promise<Place> {
  await mkdir(homes, { recursive: true })
  const home = await mkdtemp(join(homes, 'home-'))
  // Clients name the folder as the system resolves it, which on some machines is not as it is called.
  const workspace = await realpath(await mkdtemp(join(tmpdir(), 'copilot-proxy-workspace-')))
  onTestFinished(async () => {
    for (const folder of [home, workspace]) await rm(folder, { recursive: true, force: true, maxRetries: 5 })
  })
  await writeFile(join(workspace, 'heron.txt'), 'The first note is about a heron.\n')
  await writeFile(join(workspace, 'otter.txt'), 'The second note is about an otter.\n')
  await writeFile(join(workspace, 'pixel.png'), Buffer.from(pixel, 'base64'))
  return { home, workspace }
}

/** A client's own folders and the way to its programs; a client needs no more of an environment. */
export function baseEnvironment({ home }: Place): Record<string, string> {
  return {
    PATH: process.env['PATH'] ?? '',
    HOME: home,
    XDG_CONFIG_HOME: join(home, '.config'),
    XDG_DATA_HOME: join(home, '.local/share'),
    XDG_STATE_HOME: join(home, '.local/state'),
    XDG_CACHE_HOME: join(home, '.cache'),
  }
}

export function programOf(name: string): string {
  return join(import.meta.dirname, 'node_modules/.bin', name)
}
