import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

// The picture of a terminal in README.md: runs the built program and writes what it printed to terminal-light.svg and
// terminal-dark.svg. Needs Claude Code (`npm ci --prefix test/clients`) and a build: `npm run docs:terminal` makes one.

const columns = 126
const root = new URL('..', import.meta.url).pathname
const home = mkdtempSync(join(tmpdir(), 'copilot-proxy-picture-'))
const folder = join(home, 'shop')
mkdirSync(folder)
const clients = join(root, 'test/clients/node_modules/.bin')
const env = { PATH: `${clients}:${process.env['PATH']}`, COPILOT_PROXY_HOME: home }
const program = join(root, 'bin/copilot-proxy.cjs')

interface Line {
  readonly kind: 'command' | 'output'
  readonly text: string
}
const lines: Line[] = []

function show(kind: Line['kind'], text: string): void {
  for (const line of text.trimEnd().replaceAll('\t', '  ').split('\n')) {
    for (let at = 0; at === 0 || at < line.length; at += columns) {
      lines.push({ kind, text: line.slice(at, at + columns) })
    }
  }
}

/** Runs a command to its end. Its output is shown. */
async function run(shown: string, file: string, args: readonly string[], more: Record<string, string> = {}) {
  show('command', `$ ${shown}`)
  const child = spawn(file, args, {
    cwd: folder,
    env: { ...env, ...more },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let text = ''
  for await (const chunk of child.stdout.setEncoding('utf8')) text += String(chunk)
  show('output', text)
  show('output', '')
}

const palettes = {
  light: { background: '#ffffff', border: '#d0d7de', command: '#0969da', output: '#1f2328' },
  dark: { background: '#0d1117', border: '#30363d', command: '#58a6ff', output: '#e6edf3' },
} as const

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}

/** Every line gets its exact width, so that the columns fit with any monospace font. */
function svg({ background, border, ...colors }: (typeof palettes)[keyof typeof palettes]): string {
  const [charWidth, lineHeight, margin] = [7.8, 19, 16]
  const width = Math.ceil(columns * charWidth) + 2 * margin
  const height = lines.length * lineHeight + 2 * margin
  const texts = lines.flatMap(({ kind, text }, row) =>
    text.trim() === ''
      ? []
      : [
          `<text x="${margin}" y="${margin + row * lineHeight + 14}" fill="${colors[kind]}" ` +
            `textLength="${(text.length * charWidth).toFixed(1)}" xml:space="preserve">${escaped(text)}</text>`,
        ],
  )
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}"`,
    `  font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace" font-size="13">`,
    `<rect x="0.5" y="0.5" width="${width - 1}" height="${height - 1}" rx="8" fill="${background}" stroke="${border}"/>`,
    ...texts,
    '</svg>\n',
  ].join('\n')
}

const options = ['serve', '--demo', '--port', '0', '--log-level', 'silent']
const daemon = spawn(process.execPath, [program, ...options], { env, stdio: ['ignore', 'pipe', 'inherit'] })
try {
  show('command', '$ copilot-proxy serve --demo &')
  const [printed] = (await once(daemon.stdout, 'data')) as [Buffer]
  const [, port = ''] = /listening on http:\/\/127\.0\.0\.1:(\d+)/.exec(String(printed)) ?? []
  show('output', String(printed))
  show('output', '')

  writeFileSync(join(folder, 'README.md'), '# Shop\n')
  // The demo calls a tool if the prompt says so.
  const prompt = 'What is this? [demo:tool Read {"file_path": "README.md"}]'
  const asked = `claude --model gpt-5.4 --allowedTools Read -p '${prompt}'`
  const variables = `ANTHROPIC_BASE_URL=http://127.0.0.1:${port} ANTHROPIC_AUTH_TOKEN=copilot-proxy`
  const quiet = { HOME: home, CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1' }
  await run(`export ${variables}\n$ ${asked}`, 'sh', ['-c', `${variables} ${asked}`], quiet)
  const more = { COPILOT_PROXY_SERVER_PORT: port, COLUMNS: String(columns) }
  await run('copilot-proxy requests', process.execPath, [program, 'requests'], more)
  await run('copilot-proxy usage --line', process.execPath, [program, 'usage', '--line'], more)

  const usual = lines.map(({ kind, text }) => ({ kind, text: text.replaceAll(`:${port}`, ':4141') }))
  lines.splice(0, lines.length, ...usual)
  while (lines.at(-1)?.text === '') lines.pop()
  for (const [theme, palette] of Object.entries(palettes)) {
    writeFileSync(join(root, `docs/terminal-${theme}.svg`), svg(palette))
  }
} finally {
  daemon.kill()
  rmSync(home, { recursive: true, force: true })
}
