// The server's interface. The token is the one in the address of the page.

const token = new URLSearchParams(location.search).get("token") ?? "";

async function call(path, options = {}) {
  let response;
  try {
    response = await fetch(path, {
      ...options,
      headers: { Authorization: `Bearer ${token}`, "Content-Type": "application/json" },
    });
  } catch {
    throw new Error("the server cannot be reached; is lev-serve still running?");
  }
  const found = await response.json().catch(() => ({}));
  if (!response.ok) throw new Error(found.error ?? `the server answers ${response.status}`);
  return found;
}

export const info = () => call("info");

export async function ask(kind, request) {
  const body = JSON.stringify(request);
  return (await call(kind, { method: "POST", body })).results;
}
