/** A JSON Web Token whose signature is the word "test": nothing that reads its claims may trust them. */
export function mintJwt(claims: Readonly<Record<string, unknown>>): string {
  return `${part({ alg: 'RS256', kid: 'demo', typ: 'JWT' })}.${part(claims)}.test`
}

function part(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url')
}
