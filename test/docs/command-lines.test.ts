import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { globSync, readFileSync } from 'node:fs'
import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import type { TestContext } from 'vitest'

const run = promisify(execFile)
const root = fileURLToPath(new URL('../..', import.meta.url))
const pages = ['README.md', 'CONTRIBUTING.md', 'SECURITY.md', ...globSync('docs/*.md', { cwd: root }).toSorted()]

const login = 'needs a login'
const client = 'needs a client that is not part of this repository'
const network = 'downloads packages'
const docker = 'needs Docker'

/** The lines that do not run here, and why. All other lines of a page run, in the order of the page. */
const cannotRun: Readonly<Record<string, string>> = {
  'copilot-proxy gateway status': 'opens a fixed port; test/commands/gateway.test.ts runs it',
  'npm ci && npm test': `${network}, and is the test suite itself`,
  'npm ci && npm pack': network,
  'npm ci && npm run build:sea': network,
  'npm install -g ./copilot-proxy-0.1.0.tgz': 'changes this machine',
  './dist-sea/copilot-proxy serve --demo': 'needs the single file, which takes a minute to build',
  'copilot-proxy login': login,
  'copilot-proxy login codex': login,
  'copilot-proxy launch claude': client,
  'copilot-proxy models enable claude-opus-4.5': login,
  'copilot-proxy account list': login,
  'copilot-proxy account use octocat@octocorp.ghe.com': login,
  'copilot-proxy doctor': `${login}: without one, it reports a problem and exits with 1`,
  'copilot-proxy service install': 'needs systemd or launchd',
  'copilot-proxy service uninstall': 'needs systemd or launchd',
  'copilot-proxy page': 'opens a browser',
  'copilot-proxy agent --yes --json "Update the changelog" | jq -r \'select(.type == "done").outcome\'': 'needs jq',
  claude: client,
  'copilot --model gpt-5-mini': client,
  'open-webui serve': client,
  'claude mcp add --transport http workspace http://127.0.0.1:4141/mcp --header "Authorization: Bearer KEY"': client,
  'docker build -t copilot-proxy .': docker,
  'docker run --rm -it -v copilot-proxy:/data copilot-proxy login': docker,
  'docker run --rm -v copilot-proxy:/data copilot-proxy key add docker': docker,
  'docker run -p 127.0.0.1:4141:4141 -v copilot-proxy:/data copilot-proxy': docker,
  'docker compose build copilot-proxy': docker,
  'docker compose run --rm copilot-proxy login': docker,
  '(umask 077; echo "OPENAI_API_KEY=$(docker compose run --rm -T copilot-proxy key add open-webui)" > open-webui.env)':
    docker,
  'docker compose up -d': docker,
}

/** Lines that go on until somebody ends them: they have to print something. */
const endless: readonly string[] = [
  'copilot-proxy requests -f',
  'copilot-proxy requests -f --json',
  'curl -N http://127.0.0.1:4141/events',
]

/** Lines with an example of something that differs each time. */
const examples: Readonly<Record<string, string>> = {
  'copilot-proxy requests 6f1c2a9b':
    'copilot-proxy requests "$(copilot-proxy requests -n 1 --json | grep -o \'"id": *"[^"]*\' | grep -o \'[^"]*$\')"',
}

/** The first line of a block that another test runs. */
const testedElsewhere: Readonly<Record<string, string>> = {
  'mkdir -p shop/src shop/test && cd shop': 'agent.test.ts, with what it prints',
}

/** The commands of each block of a page, without comments, as a person types them. */
function blocksOf(page: string): readonly (readonly string[])[] {
  const text = readFileSync(join(root, page), 'utf8')
  return Array.from(
    text.matchAll(/^( *)```(sh|bash|console)\n(.*?)^ *```$/gms),
    ([, indent = '', language, block = '']) =>
      block
        .replaceAll(/\\\n\s*/g, '')
        .split('\n')
        .map((line) => line.slice(indent.length))
        .filter((line) => language !== 'console' || line.startsWith('$ '))
        .map((line) =>
          line
            .replace(/^\$ /, '')
            .replace(/(?:^|\s+)# .*$/, '')
            .trimEnd(),
        )
        .filter((line) => line !== ''),
  )
}

const withCommands = pages.map((page) => ({ page, blocks: blocksOf(page) })).filter(({ blocks }) => blocks.length > 0)

function isRun(line: string): boolean {
  return !Object.hasOwn(cannotRun, line) && !endless.includes(line)
}

/** Nothing else asks for this port before the daemon does. */
async function unusedPort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  // Proof: a TCP server that listens has an AddressInfo.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  const { port } = server.address() as AddressInfo
  server.close()
  return port
}

/**
 * `copilot-proxy` is the built program. Daemons are simulated and run in the background, and questions are answered with
 * yes. An answer with an error status fails curl.
 */
const programs = {
  'copilot-proxy': `case "$1" in
  serve | start | --demo) shift; "$0" stop >/dev/null 2>&1; set -- start --demo "$@" ;;
  agent) shift; set -- agent --demo --yes "$@" ;;
  setup) set -- "$@" --yes ;;
esac
exec "${process.execPath}" "${join(root, 'bin/copilot-proxy.cjs')}" "$@"`,
  curl: `PATH=\${PATH#*:} exec curl --fail-with-body --silent --show-error "$@"`,
}

async function openHome({ onTestFinished }: TestContext) {
  const home = await mkdtemp(join(tmpdir(), 'copilot-proxy-docs-'))
  const bin = join(home, 'bin')
  const folder = join(home, 'code/app')
  for (const dir of [bin, folder, join(home, 'code/shop')]) await mkdir(dir, { recursive: true })
  await writeFile(join(folder, 'README.md'), '# An app\n')
  for (const [name, script] of Object.entries(programs)) {
    await writeFile(join(bin, name), `#!/bin/sh\n${script}\n`)
    await chmod(join(bin, name), 0o755)
  }
  const port = await unusedPort()
  const env = {
    PATH: `${bin}:${process.env['PATH']}`,
    HOME: home,
    COPILOT_PROXY_SERVER_PORT: String(port),
    COPILOT_PROXY_GATEWAY_PORT: '0',
    NODE_DISABLE_COMPILE_CACHE: '1',
  }
  const here = (line: string): string =>
    (examples[line] ?? line)
      .replace(/^npm ci && /, '')
      .replace(/^npm start -- /, 'copilot-proxy ')
      .replaceAll('127.0.0.1:4141', `127.0.0.1:${port}`)
  onTestFinished(async () => {
    await run(join(bin, 'copilot-proxy'), ['stop'], { env })
    await rm(home, { recursive: true, force: true })
  })
  return {
    runBlock: (lines: readonly string[]) => run('/bin/sh', ['-exc', lines.map(here).join('\n')], { cwd: folder, env }),
    /** Resolves with the first output of a line, and ends it. */
    watch: async (line: string): Promise<string> => {
      const child = spawn('/bin/sh', ['-c', `exec ${here(line)}`], {
        cwd: folder,
        env,
        stdio: ['ignore', 'pipe', 'inherit'],
      })
      onTestFinished(() => {
        child.kill('SIGKILL')
      })
      const ended = once(child, 'close').then(([code]) => `ended with ${code}`)
      const printed = once(child.stdout, 'data').then(([data]) => String(data))
      return Promise.race([printed, ended])
    },
  }
}

const request =
  `curl http://127.0.0.1:4141/v1/chat/completions -H 'content-type: application/json' ` +
  `-d '{"model": "gpt-5-mini", "messages": [{"role": "user", "content": "Say hello"}]}'`

/** Whether the lines of a page ask a daemon that none of them starts. */
function asksDaemon(lines: readonly string[]): boolean {
  const isStarted = /^(?:npm ci && npm start|copilot-proxy (?:serve|start))/.test(lines[0] ?? '')
  return !isStarted && lines.some((line) => /^curl .*:4141|^copilot-proxy (?:requests|usage|page)/.test(line))
}

// A command gives the daemon one second to answer, which a busy machine may not have.
test.skipIf(process.platform === 'win32').concurrent.for(withCommands)(
  'the command lines of $page run',
  { retry: 2 },
  async ({ blocks }, context) => {
    const mine = blocks.filter(([first = '']) => !Object.hasOwn(testedElsewhere, first))
    const lines = mine.flat().filter((line) => isRun(line) || endless.includes(line))
    if (lines.length === 0) return
    const { runBlock, watch } = await openHome(context)
    if (asksDaemon(lines)) await runBlock(['copilot-proxy start'])
    // Lists of requests have one.
    if (lines.some((line) => line.startsWith('copilot-proxy requests'))) await runBlock([request])
    for (const block of mine) {
      await runBlock(block.filter(isRun))
      for (const line of block.filter((each) => endless.includes(each))) {
        expect([line, await watch(line)]).toEqual([line, expect.not.stringMatching(/^ended with/)])
      }
    }
  },
)

test.skipIf(process.platform === 'win32')(
  'the demo in the help of agent reads the folder',
  { retry: 2 },
  async (context) => {
    const { runBlock } = await openHome(context)
    const { stdout: help } = await runBlock(['copilot-proxy agent --help'])
    const lines = Array.from(help.matchAll(/^ *(copilot-proxy agent --demo .*)$/gm), ([, found = '']) => found)
    expect(lines).not.toEqual([])
    for (const line of lines) expect((await runBlock([line])).stdout).toMatch(/The tool answered: .*README\.md/s)
  },
)

test('every line of the tables is on a page', () => {
  const all = new Set(withCommands.flatMap(({ blocks }) => blocks.flat()))
  const listed = [...Object.keys(cannotRun), ...endless, ...Object.keys(examples), ...Object.keys(testedElsewhere)]
  expect(listed.filter((line) => !all.has(line))).toEqual([])
})
