import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

// The picture of a terminal in README.md: runs the built program and writes what it printed to terminal-light.svg and
// terminal-dark.svg. Needs curl and a build: `npm run docs:terminal` makes one.

const columns = 104
const root = new URL('..', import.meta.url).pathname
const home = mkdtempSync(join(tmpdir(), 'copilot-proxy-picture-'))
const env = { PATH: process.env['PATH'], COPILOT_PROXY_HOME: home, COPILOT_PROXY_LOG_FORMAT: 'pretty' }
const program = join(root, 'bin/copilot-proxy.cjs')

interface Line {
  readonly kind: 'command' | 'output'
  readonly text: string
}
const lines: Line[] = []

function show(kind: Line['kind'], text: string): void {
  for (const line of text.trimEnd().split('\n')) {
    for (let at = 0; at === 0 || at < line.length; at += columns) {
      lines.push({ kind, text: line.slice(at, at + columns) })
    }
  }
}

/** Runs a command to its end. Its output is shown. */
async function run(shown: string, file: string, args: readonly string[], more: Record<string, string> = {}) {
  show('command', `$ ${shown}`)
  const child = spawn(file, args, { env: { ...env, ...more }, stdio: ['ignore', 'pipe', 'inherit'] })
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

show('command', '$ copilot-proxy serve --demo &')
const daemon = spawn(process.execPath, [program, 'serve', '--demo', '--port', '0'], { env })
try {
  const listening = Promise.withResolvers<string>()
  const served = Promise.withResolvers<undefined>()
  let printed = ''
  for (const stream of [daemon.stdout, daemon.stderr]) {
    stream.setEncoding('utf8').on('data', (chunk: string) => {
      printed += chunk
      const [, port] = /listening on http:\/\/127\.0\.0\.1:(\d+)/.exec(printed) ?? []
      if (port !== undefined && printed.includes('Copilot model list loaded')) listening.resolve(port)
      if (/\b200\b/.test(printed)) served.resolve(undefined)
    })
  }
  const port = await listening.promise
  show('output', printed)
  show('output', '')
  printed = ''

  const url = `http://127.0.0.1:${port}/v1/chat/completions`
  const body = JSON.stringify({ model: 'claude-sonnet-5', messages: [{ role: 'user', content: 'Say hello' }] })
  const filter = `grep -o '"content":"[^"]*"'`
  const curl = `curl -s ${url} -H 'content-type: application/json' \\\n    -d '${body}' \\\n    | ${filter}`
  await run(curl, 'sh', ['-c', curl])
  await served.promise
  lines.splice(
    -1,
    0,
    ...printed
      .trimEnd()
      .split('\n')
      .map((text): Line => ({ kind: 'output', text })),
  )
  await run('copilot-proxy usage', process.execPath, [program, 'usage'], { COPILOT_PROXY_SERVER_PORT: port })

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
