import { globSync, readFileSync, statSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { createUser } from '../commands/harness.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const read = (path: string): string => readFileSync(join(root, path), 'utf8')
const readme = read('README.md')
const pages = ['README.md', 'CONTRIBUTING.md', 'SECURITY.md', ...globSync('docs/*.md', { cwd: root }).toSorted()]
const { scripts, engines, version, repository } = JSON.parse(read('package.json')) as {
  scripts: Record<string, string>
  engines: { node: string }
  version: string
  repository: { url: string }
}

/** Markdown without its code. */
function prose(text: string): string {
  return text.replaceAll(/^```.*?^```$/gms, '').replaceAll(/`[^`\n]+`/g, 'code')
}

/** The targets of links and pictures. */
function linksOf(text: string): readonly string[] {
  return Array.from(
    prose(text).matchAll(/\]\(([^)\s]+)\)|(?:src|srcset)="([^"]+)"/g),
    ([, link, source]) => link ?? source ?? '',
  )
}

/** As GitHub makes them. */
function anchorsOf(text: string): readonly string[] {
  return Array.from(text.replaceAll(/^```.*?^```$/gms, '').matchAll(/^#+ (.+)$/gm), ([, title = '']) =>
    title
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  )
}

test('the README has at most 200 lines', () => {
  expect(readme.split('\n').length).toBeLessThanOrEqual(200)
})

test('the README links every page in docs/', () => {
  const linked = new Set(linksOf(readme).map((link) => link.replace(/#.*/, '')))
  expect(globSync('docs/*.md', { cwd: root }).filter((path) => !linked.has(path))).toEqual([])
})

test.each(pages)('the links of %s lead to files and headings that exist', (page) => {
  const broken = linksOf(read(page)).filter((link) => {
    if (/^https?:/.test(link)) return false
    const [path = '', anchor] = link.split('#')
    const file = path === '' ? page : relative(root, join(root, dirname(page), path))
    const exists = statSync(join(root, file), { throwIfNoEntry: false })?.isFile() === true
    return !exists || (anchor !== undefined && !anchorsOf(read(file)).includes(anchor))
  })
  expect(broken).toEqual([])
})

const withCommands = pages.filter((page) => !page.endsWith('-wire.md'))

test.each(withCommands)('the npm scripts in %s exist', (page) => {
  const names = Array.from(read(page).matchAll(/\bnpm (?:run )?(start|test|run [\w:]+)/g), ([, name = '']) =>
    name.replace('run ', ''),
  )
  const runs = Array.from(read(page).matchAll(/\bnpm run ([\w:]+)/g), ([, name = '']) => name)
  expect([...names, ...runs].filter((name) => !Object.hasOwn(scripts, name))).toEqual([])
})

/** `copilot-proxy setup claude --undo` as words; what follows `--`, `<`, `|`, `)` or `#` belongs to something else. */
function commandsOf(text: string): readonly (readonly string[])[] {
  const code = Array.from(
    text.matchAll(/^```(\w*)\n(.*?)^```$|`([^`\n]+)`/gms),
    ([, language, block, span]) => (language === 'sh' ? block : span) ?? '',
  )
  return code.flatMap((each) =>
    Array.from(each.matchAll(/(?:^|[(\s])(?:copilot-proxy|npm start --) ([^\n]*)/gm), ([, line = '']) =>
      (line.split(/ -- |[<|)#"&;]/)[0] ?? '').trim().split(/\s+/),
    ).filter(([first = '']) => /^(?:--)?[a-z]/.test(first)),
  )
}

test.each(withCommands)('the commands in %s exist, with their options', async (page) => {
  const user = await createUser()
  for (const words of commandsOf(read(page))) {
    const options = words.filter((word) => word.startsWith('-')).map((word) => word.replace(/=.*/, ''))
    const names = words.filter((word) => /^[a-z][a-z-]*$/.test(word))
    const isGroup = ['key', 'config', 'gateway', 'policy', 'service'].includes(names[0] ?? '')
    const command = names.slice(0, isGroup ? 2 : 1).join(' ')
    // Without a command, the options are those of serve.
    const { code, stdout } = await user.run(`${command === '' ? 'serve' : command} --help`)
    expect([words.join(' '), code, options.filter((option) => !stdout.includes(option))]).toEqual([
      words.join(' '),
      0,
      [],
    ])
    expect([words.join(' '), stdout.includes(`copilot-proxy ${command}`)]).toEqual([words.join(' '), true])
  }
})

test('a provider is a provider of models: programs with tools have another name, but for the protocol', async () => {
  const user = await createUser()
  const helps = ['', 'gateway', 'gateway token', 'gateway programs', 'agent', 'mcp'].map((name) => `${name} --help`)
  const texts = await Promise.all(helps.map(async (line) => (await user.run(line)).stdout))
  const written = [...pages, 'CHANGELOG.md', 'config.example.yaml'].map((page) => prose(read(page)))
  const found = [...texts, ...written].flatMap(
    (text) =>
      text.match(/\btool[ -]providers?\b|\b(?:MCP servers?|workspaces?) (?:and|or) (?:a )?providers?\b/gi) ?? [],
  )
  expect(found).toEqual([])
})

test('the settings that pages tell to change exist', async () => {
  const user = await createUser()
  const named = pages.flatMap((page) =>
    Array.from(
      read(page).matchAll(/copilot-proxy config (?:set|get) ([a-z][\w.-]+)/g),
      ([, key = '']) => `${page}: ${key}`,
    ),
  )
  expect(named).not.toEqual([])
  for (const each of named) {
    expect([each, await user.run(`config get ${each.split(': ')[1]}`)]).toEqual([
      each,
      expect.objectContaining({ code: 0, stderr: '' }),
    ])
  }
})

test('every page names the same Node.js', () => {
  const [, wanted] = /^>=(\d+\.\d+)$/.exec(engines.node) ?? []
  const named = pages.flatMap((page) =>
    Array.from(read(page).matchAll(/Node(?:\.js)? (\d+(?:\.\d+)?) or newer/g), ([, found]) => `${page}: ${found}`),
  )
  expect(named).toContain(`README.md: ${wanted}`)
  expect(named.filter((each) => !each.endsWith(` ${wanted}`))).toEqual([])
})

test('pages name the repository as package.json does, and CONTRIBUTING.md says where to change it', () => {
  const [, address] = /^git\+https:\/\/github\.com\/(\S+)\.git$/.exec(repository.url) ?? []
  const pattern = /(?:git clone https:\/\/github\.com\/|--repo |ghcr\.io\/)([\w-]+\/copilot-proxy)/g
  const named = pages.flatMap((page) => Array.from(read(page).matchAll(pattern), ([, found]) => found))
  expect(named.length).toBeGreaterThan(1)
  expect(new Set(named)).toEqual(new Set([address]))
  expect(read('CONTRIBUTING.md')).toContain('`npm run release:address OWNER/NAME`')
})

test('no page shows a key to copy', () => {
  const shown = [...pages, 'compose.yaml', 'Dockerfile', 'config.example.yaml'].filter((path) =>
    /SERVER_API_KEYS=|sk-copilot-proxy-\w{20}/.test(read(path)),
  )
  expect(shown).toEqual([])
})

test.each(['light', 'dark'])('the %s picture of the terminal shows a session and nothing of a machine', (theme) => {
  const picture = read(`docs/terminal-${theme}.svg`)
  expect(picture).toMatch(/^<svg xmlns="http:\/\/www\.w3\.org\/2000\/svg" width="\d+" height="\d+" viewBox=/)
  expect(picture).not.toMatch(/&(?!amp;|lt;|gt;)|@font-face|href|<script|\/(?:home|tmp|work|root|Users)\//)
  const text = Array.from(picture.matchAll(/<text [^>]*>([^<]*)<\/text>/g), ([, line]) => line).join('\n')
  expect(text).toContain('$ copilot-proxy serve --demo')
  expect(text).toMatch(/\$ claude --model gpt\S* .*\nThe tool answered:/)
  expect(text).toMatch(/\bclaude +- +gpt\S+ +copilot\/responses +200 /)
  expect(text.match(/127\.0\.0\.1:\d+/g)?.filter((address) => !address.endsWith(':4141'))).toEqual([])
})

describe('the container', () => {
  const dockerfile = read('Dockerfile')
  const { services, volumes } = parse(read('compose.yaml')) as {
    services: Record<
      'copilot-proxy' | 'open-webui',
      { environment: Record<string, string>; ports: string[]; volumes: string[]; env_file?: { path: string }[] }
    >
    volumes: Record<string, unknown>
  }

  test('compose.yaml sets variables that copilot-proxy has, and Open WebUI calls a name that it admits', async () => {
    const { environment } = services['copilot-proxy']
    const user = await createUser()
    Object.assign(user.env, environment)
    const { code, stdout } = await user.run('config show --json')
    expect([code, stdout]).toEqual([0, expect.stringContaining('COPILOT_PROXY_SERVER_ALLOWED_HOSTS')])
    const { hostname, port, pathname } = new URL(services['open-webui'].environment['OPENAI_API_BASE_URL'] ?? '')
    expect([hostname, pathname]).toEqual([environment['COPILOT_PROXY_SERVER_ALLOWED_HOSTS'], '/v1'])
    expect(Object.keys(services)).toContain(hostname)
    expect(dockerfile).toContain(`EXPOSE ${port}\n`)
    expect(services['copilot-proxy'].ports).toEqual([`127.0.0.1:${port}:${port}`])
  })

  test('compose.yaml mounts the volume of the image, and names every volume', () => {
    expect(services['copilot-proxy'].volumes).toEqual([`copilot-proxy:${/^VOLUME (.+)$/m.exec(dockerfile)?.[1]}`])
    const mounted = Object.values(services).flatMap((service) => service.volumes.map((volume) => volume.split(':')[0]))
    expect(Object.keys(volumes)).toEqual(mounted)
  })

  test('the key of Open WebUI is in a file that git and the image leave out', () => {
    const [file] = services['open-webui'].env_file ?? []
    expect(file?.path).toMatch(/\.env$/)
    expect(services['open-webui'].environment).not.toHaveProperty('OPENAI_API_KEY')
    expect(read('.gitignore').split('\n')).toContain('*.env')
    for (const text of [read('docs/network.md'), read('compose.yaml')]) {
      expect(text).toContain(
        `"OPENAI_API_KEY=$(docker compose run --rm -T copilot-proxy key add open-webui)" > ${file?.path}`,
      )
    }
  })

  test('the build context has what the Dockerfile copies, and nothing else', () => {
    const copied = Array.from(dockerfile.matchAll(/^COPY (?!--from)(.+) \S+$/gm), ([, paths = '']) => paths.split(' '))
    const admitted = read('.dockerignore')
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('#'))
    expect(admitted[0]).toBe('*')
    expect(admitted.slice(1)).toEqual(copied.flat().map((path) => `!${path}`.replace('./', '')))
  })

  test('the image is labelled, with the version of the package', () => {
    const labels = Object.fromEntries(
      Array.from(dockerfile.matchAll(/org\.opencontainers\.image\.(\w+)="([^"]*)"/g), ([, name, value]) => [
        name,
        value,
      ]),
    )
    expect(labels).toMatchObject({ title: 'copilot-proxy', licenses: 'MIT', version })
    expect(Object.keys(labels)).toEqual(expect.arrayContaining(['description', 'revision', 'source']))
  })
})
