// Marks links that lead to the page that is shown.
for (const link of document.querySelectorAll("a[href]")) {
    if (new URL(link.href).pathname === location.pathname) {
        link.setAttribute("aria-current", "page");
    }
}
