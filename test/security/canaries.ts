/** Made-up values in the places of secrets. Most have no shape that a pattern could know. */
export const canaries = {
  githubToken: 'canary.github.Gh7Qm2Xr9Lp4Vt8Zk3Wd',
  otherGithubToken: 'canary.other.Jt4Nc8Bx2Fy6Ms1Re5Ug',
  copilotToken: 'canary.copilot.Cp5Hv1Na7Sq3Ye9Bt6Kj',
  refreshToken: 'canary.refresh.Rf2Wz8Ed4Lm6Xc1Po9Gu',
  renewedRefreshToken: 'canary.renewed.Rn9Tb3Vk7Qa5Jh1Zs8Mw',
  openaiKey: 'canary.openai.Oa6Xd2Gr8Ny4Uf7Lc3Bi',
  callerKey: 'canary.caller.Ck3Pm9Wj5Sv1Qe7Ta4Zy',
  wrongKey: 'canary.wrong.Wk8Fb4Rh2Xn6Uc1Dg9Lo',
  cookie: 'canary.cookie.Co1Yq7Mz3Kt9Bs5Vp2Ew',
  proxyPassword: 'canary.proxy.Pr4Ja8Hd6Nw2Gx9Li5Tf',
} as const

/** Part of every prompt that a test sends. */
export const promptCanary = 'canary.prompt.Pt6Zr2Cv8Lk4'

/**
 * Which secrets a text holds, whole or half, plain or encoded: what a log or an answer is searched for.
 * @param secrets by name, for the report; the values themselves stay out of it
 */
export function leaksIn(text: string, secrets: Readonly<Record<string, string>>): readonly string[] {
  const lowerCase = text.toLowerCase()
  return Object.entries(secrets).flatMap(([name, secret]) =>
    Object.entries(writings(secret)).flatMap(([form, writing]) =>
      lowerCase.includes(writing.toLowerCase()) ? [`${name} (${form})`] : [],
    ),
  )
}

function writings(secret: string): Readonly<Record<string, string>> {
  const middle = Math.floor(secret.length / 2)
  return {
    'first half': secret.slice(0, middle),
    'second half': secret.slice(middle),
    'URL-encoded': encodeURIComponent(secret),
    escaped: JSON.stringify(JSON.stringify(secret)).slice(3, -3),
    hexadecimal: Buffer.from(secret).toString('hex'),
    base64: inner(secret, 'base64'),
    'base64 after a byte': inner(`:${secret}`, 'base64'),
    'base64 after two bytes': inner(`k:${secret}`, 'base64'),
    base64url: inner(secret, 'base64url'),
    'base64 of a bearer header': inner(`Bearer ${secret}`, 'base64').slice(12),
  }
}

/** Without what depends on the neighbours. */
function inner(text: string, encoding: 'base64' | 'base64url'): string {
  return Buffer.from(text).toString(encoding).slice(4, -6)
}
