import { describe, expect, it } from 'vitest'
import { fc } from '../fast-check.ts'
import { linkTarget, normalPath } from '../../src/workspace/paths.ts'

const linux = { roots: ['/w/proj', '/home/me/proj'], platform: 'linux' } as const
const mac = { roots: ['/Users/me/proj'], platform: 'darwin' } as const
const windows = { roots: [String.raw`C:\w\proj`], platform: 'win32' } as const
const everywhere = [linux, mac, windows]

describe('normalPath', () => {
  it.each([
    ['', ''],
    ['.', ''],
    ['./', ''],
    ['/w/proj', ''],
    ['/w/proj/', ''],
    ['a.ts', 'a.ts'],
    ['./src//a.ts', 'src/a.ts'],
    ['src/./a.ts', 'src/a.ts'],
    ['src/../a.ts', 'a.ts'],
    ['src/', 'src'],
    ['/w/proj/src/a.ts', 'src/a.ts'],
    ['/home/me/proj/src/a.ts', 'src/a.ts'],
    ['.git/HEAD', '.git/HEAD'],
    ['.env', '.env'],
    ['..a/...b', '..a/...b'],
    ['src/~a', 'src/~a'],
    ['~$report.docx', '~$report.docx'],
    ['10:30.log', '10:30.log'],
    ['100%.txt', '100%.txt'],
    ['caf\u00e9.ts', 'caf\u00e9.ts'],
    ['cafe\u0301.ts', 'cafe\u0301.ts'],
    ['\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645', '\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645'],
    ['a b/ c', 'a b/ c'],
    ['-rf', '-rf'],
    ['backup~1.txt.bak', 'backup~1.txt.bak'],
    ['aux.c', 'aux.c'],
  ])('takes %j for %j', (path, normal) => {
    expect(normalPath(path, linux)).toEqual({ ok: true, path: normal })
  })

  it.each([
    '..',
    '../x',
    'src/../../x',
    './../x',
    '/etc/passwd',
    '//etc/passwd',
    '/dev/null',
    '~',
    '~/x',
    '~root/x',
    'a\0b',
    'src/a\nb',
    'src/a\u2028b',
    '%2e%2e/x',
    'src/%2E%2e/x',
    'a%2fb',
    'a%5cb',
    'a%00b',
    String.raw`..\x`,
    String.raw`src\a.ts`,
    String.raw`\\server\share`,
    'D:/x',
    'c:x',
    '\ud800',
    'a/'.repeat(3000),
  ])('G02: refuses %j on every platform', (path) => {
    for (const root of everywhere) expect(normalPath(path, root).ok).toBe(false)
  })

  it.each(['/w/proj-evil/x', '/w/pro', '/w', '/', '/W/PROJ/x', '/w/proj/../proj-evil/x', '/w/proj/..'])(
    'G03: compares %j with the root by segments',
    (path) => {
      expect(normalPath(path, linux)).toEqual({ ok: false, reason: 'is outside the workspace' })
    },
  )

  it.each([
    '.GIT/hooks',
    '.Git',
    'sub/.gIt/config',
    '.git::$INDEX_ALLOCATION',
    '.git::$INDEX_ALLOCATION/hooks',
    '.git:$DATA',
    'GIT~1',
    'git~1/hooks',
    'ENV~1',
    'AGENT-~1.YAM',
    '.gi\u200ct/hooks',
    '.git\ufeff',
    '.git.',
    '.git ',
    '.git./hooks',
    'a. /b',
    '...',
    String.raw`\\?\C:\x`,
    String.raw`\\.\C:`,
    'C:/w',
    '.Agent-Policy.YAML',
    'Node_Modules/x',
    'node_module\u017f/x',
    '\uff0egit',
  ])('G09: refuses %j on every platform', (path) => {
    for (const root of everywhere) expect(normalPath(path, root).ok).toBe(false)
  })

  it.each(['NUL', 'con.txt', 'src/aux.c', 'a:b', 'a?', 'a|b', 'COM1'])('refuses %j on Windows', (path) => {
    expect(normalPath(path, windows).ok).toBe(false)
  })

  it('accepts an absolute path on Windows in any case', () => {
    expect(normalPath('c:/W/proj/src/A.ts', windows)).toEqual({ ok: true, path: 'src/A.ts' })
  })

  it('returns a path below the root that it accepts again unchanged', () => {
    const segment = fc.oneof(
      fc.constantFrom('..', '.', '', '.git', '.GIT', 'a', 'b', '~', 'GIT~1', 'C:', '%2e', '\\', 'w', 'proj'),
      fc.string({ unit: 'binary', maxLength: 4 }),
    )
    fc.assert(
      fc.property(fc.array(segment, { maxLength: 8 }), fc.constantFrom(...everywhere), (segments, root) => {
        const normal = normalPath(segments.join('/'), root)
        if (!normal.ok) return
        expect(normalPath(normal.path, root)).toEqual(normal)
        expect(normal.path).not.toMatch(/^\/|^~[^$]|(?:^|\/)\.{0,2}(?:\/|$)./)
      }),
      { numRuns: 1000 },
    )
  })
})

describe('linkTarget', () => {
  const roots = ['/w/proj']
  it.each([
    ['a/b', 'x', 'a/b/x'],
    ['a/b', '../x', 'a/x'],
    ['a/b', '../..', ''],
    ['a/b', '/w/proj/x', 'x'],
    ['', './x/./y', 'x/y'],
    ['a/b', '../../../x', undefined],
    ['', '..', undefined],
    ['a', '/etc/passwd', undefined],
    ['a', '/w/proj-evil', undefined],
    ['a', '/w/proj/../x', undefined],
  ])('leads from %j through %j to %j', (folder, target, place) => {
    expect(linkTarget(folder.split('/').filter(Boolean), target, roots)).toBe(place)
  })
})
