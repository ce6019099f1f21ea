import "/static/studio.js";
