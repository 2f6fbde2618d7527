import { execFileSync } from 'node:child_process'
import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { listFiles } from '../../src/workspace/list-files.ts'
import { openFolder } from '../../src/workspace/open-folder.ts'
import { outerIgnoreFiles } from '../../src/workspace/outer-ignore-files.ts'
import { searchCode } from '../../src/workspace/search-code.ts'
import { createTree } from './tree.ts'

const { signal } = new AbortController()

/** Writes files around and in the workspace `root/repo/parts/app`. A path that ends with `.git` is a repository. */
async function workspaceIn(files: Readonly<Record<string, string>>) {
  const { root: base } = await createTree()
  const own = {
    'repo/parts/app/a.txt': 'needle',
    'repo/parts/app/src/b.ts': 'needle',
    'repo/parts/app/x.log': 'needle',
  }
  for (const [path, text] of Object.entries({ ...own, ...files })) {
    const full = join(base, path)
    await mkdir(dirname(full), { recursive: true })
    if (path.endsWith('.git')) execFileSync('git', ['init', '-q', dirname(full)])
    else await writeFile(full, text)
  }
  const root = join(base, 'repo/parts/app')
  const folder = await openFolder(root)
  return {
    root,
    find: async (glob = ''): Promise<readonly string[]> => {
      const { files: listed } = await listFiles(folder, { glob }, signal)
      const { hits } = await searchCode(folder, { query: 'needle', glob }, signal)
      expect(hits.map(({ file }) => file)).toEqual(listed.filter((file) => !file.includes('ignore')))
      return listed.filter((file) => !file.includes('ignore'))
    },
    /** What git lists of a repository. */
    gitFiles: () =>
      execFileSync('git', ['ls-files', '-oc', '--exclude-standard'], { cwd: root, encoding: 'utf8' })
        .split('\n')
        .filter((file) => file !== '' && !file.includes('ignore'))
        .toSorted(),
  }
}

const all = ['a.txt', 'src/b.ts', 'x.log']
const names = ['.gitignore', '.ignore', '.rgignore']

describe('an ignore file above the workspace', () => {
  test.each(
    names.flatMap((name) =>
      ['', 'repo/', 'repo/parts/'].flatMap((above) =>
        [undefined, 'repo/parts/app/.git', 'repo/.git'].map((repository) => [above + name, repository] as const),
      ),
    ),
  )('%s holds only inside the same repository: %s', async (file, repository) => {
    const { find } = await workspaceIn({ [file]: '*', ...(repository !== undefined && { [repository]: '' }) })
    const isInside = repository === 'repo/.git' && file.startsWith('repo/')
    expect(await find()).toEqual(isInside ? [] : all)
    expect(await find('src/**')).toEqual(isInside ? [] : ['src/b.ts'])
  })

  test.each([{}, { '.gitignore': '*' }, { '.ignore': '*', '.gitignore': '*' }])(
    'of its repository hides what git hides, also below %j',
    async (foreign) => {
      const { find, gitFiles } = await workspaceIn({
        ...foreign,
        'repo/.git': '',
        'repo/.gitignore': '*.log\n/parts/app/out\n',
        'repo/parts/.gitignore': 'app/src/c.ts\n',
        'repo/parts/app/out/o.txt': 'needle',
        'repo/parts/app/src/c.ts': 'needle',
        'repo/parts/app/src/.gitignore': 'd.ts',
        'repo/parts/app/src/d.ts': 'needle',
      })
      expect(await find()).toEqual(['a.txt', 'src/b.ts'])
      expect(await find()).toEqual(gitFiles())
    },
  )
})

test.each([[''], ['src/'], ['src/deep/']])(
  'ignore files above a searched folder hold inside the workspace: %s',
  async (above) => {
    const { find } = await workspaceIn({
      '.rgignore': '*',
      [`repo/parts/app/${above}.gitignore`]: '*.log',
      'repo/parts/app/src/deep/y.log': 'needle',
      'repo/parts/app/src/deep/y.ts': 'needle',
    })
    expect(await find('src/deep/**')).toEqual(['src/deep/y.ts'])
    expect(await find('src/deep')).toEqual(['src/deep/y.ts'])
  },
)

test('in the sandbox, which hides the folders above, those of the repository are mounted', async () => {
  const { root } = await workspaceIn({
    '.gitignore': '*',
    'repo/.git': '',
    'repo/.gitignore': '*.log',
    'repo/parts/.ignore': '',
  })
  const repository = dirname(dirname(root))
  expect(await outerIgnoreFiles(root, '', true)).toEqual({
    args: ['--no-require-git'],
    above: [join(repository, '.gitignore'), join(repository, 'parts/.ignore')],
  })
})
