# lev-serve with the English spelling model: docs/service.md
FROM python:3.12-slim
COPY . /src
RUN pip install --no-cache-dir -c /src/constraints.txt '/src[serve]' && rm -r /src
USER nobody
WORKDIR /tmp
EXPOSE 8000
HEALTHCHECK CMD ["python", "-c", "import urllib.request as u; u.urlopen('http://127.0.0.1:8000/ready')"]
ENTRYPOINT ["lev-serve", "--host", "0.0.0.0"]
